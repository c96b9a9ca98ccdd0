/**
 * Tells when the kernel may have dropped notices. Node doesn't pass its "queue overflow" on, but a queue that was full
 * is emptied in one go, within one turn of the event loop: so many notices in a turn mean that there may have been
 * more. False alarms cost one look at everything; a true one is never missed.
 */
import { readFileSync } from "node:fs";

export interface FloodGauge {
  count(): void;
}

const usualQueueMax = 16_384;
/** notices of watches that were just closed take room in the queue and aren't counted */
const alarmShare = 1 / 4;

export function createFloodGauge(onFlood: () => void, queueMax = readQueueMax()): FloodGauge {
  let counted = 0;
  return {
    count() {
      counted += 1;
      if (counted > 1) return;
      setImmediate(() => {
        const isFlood = counted >= queueMax * alarmShare;
        counted = 0;
        if (isFlood) onFlood();
      });
    },
  };
}

function readQueueMax(): number {
  try {
    return Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8")) || usualQueueMax;
  } catch {
    return usualQueueMax;
  }
}
