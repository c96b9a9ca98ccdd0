/** Runs work on the same key one after another, in the order of asking; different keys don't wait for each other. */
import { createSemaphore, type Semaphore } from "./semaphore.ts";

interface Lane {
  readonly semaphore: Semaphore;
  /** who holds or waits; the lane leaves the map with the last one, so that keys don't pile up */
  users: number;
}

export function createKeyedMutex(): <T>(key: string, fn: () => Promise<T>) => Promise<T> {
  const lanes = new Map<string, Lane>();
  return async (key, fn) => {
    const lane = lanes.get(key) ?? { semaphore: createSemaphore(1), users: 0 };
    lanes.set(key, lane);
    lane.users += 1;
    try {
      const release = await lane.semaphore.acquire();
      try {
        return await fn();
      } finally {
        release();
      }
    } finally {
      lane.users -= 1;
      if (lane.users === 0) lanes.delete(key);
    }
  };
}
