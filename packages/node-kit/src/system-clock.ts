/** The real time and real random ids, for composition roots. Everything else takes them as parameters. */
import { randomUUID } from "node:crypto";
import type { Clock, IdSource } from "@sand/protocol";

/** a timer takes at most 2^31-1 `ms`; a longer one would fire at once */
const timerMaxMs = 2_147_483_647;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  async sleep(ms, signal) {
    // A long sleep is re-armed, so that it is delayed by a blocked event loop and never lost.
    for (let left = ms; left > 0 && signal?.aborted !== true; left -= timerMaxMs) {
      await nap(Math.min(left, timerMaxMs), signal);
    }
  },
};

export const randomIds: IdSource = { next: () => randomUUID() };

function nap(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", wake, { once: true });
    function wake(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    }
  });
}
