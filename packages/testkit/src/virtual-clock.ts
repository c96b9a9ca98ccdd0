/**
 * A clock that a test moves by hand. Sleepers wake in the order of their due times, and `advance` lets the work that
 * each wake causes settle before it wakes the next one.
 */
import type { Clock, IdSource } from "@sand/protocol";

export interface VirtualClock extends Clock {
  /** moves the time forward and wakes who is due */
  advance(ms: number): Promise<void>;
  /** how many sleepers wait */
  sleeperCount(): number;
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** turns of the event loop given to what a wake set going */
const settleTurns = 5;

export function createVirtualClock(startMs = 1_700_000_000_000): VirtualClock {
  let nowMs = startMs;
  let sleepers: Sleeper[] = [];
  const forget = (sleeper: Sleeper) => {
    sleepers = sleepers.filter((other) => other !== sleeper);
  };
  return {
    nowMs: () => nowMs,
    sleeperCount: () => sleepers.length,
    sleep(ms, signal) {
      if (signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          forget(sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper: Sleeper = { dueMs: nowMs + ms, wake };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", wake, { once: true });
      });
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const due = sleepers.filter((one) => one.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
        if (due === undefined) break;
        nowMs = Math.max(nowMs, due.dueMs);
        due.wake();
        await settle();
      }
      nowMs = endMs;
      await settle();
    },
  };
}

/** Ids that repeat: `<prefix>-1`, `<prefix>-2`, … */
export function createCountingIds(prefix: string): IdSource {
  let count = 0;
  return {
    next() {
      count += 1;
      return `${prefix}-${count}`;
    },
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < settleTurns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
