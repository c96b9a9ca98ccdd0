/**
 * Lets at most `permits` holders in at a time, in the order of asking.
 *
 * A released permit is handed to the first waiter in the same step; it is never put back for anyone to take. So a
 * newcomer can't slip into the gap before the waiter wakes up, which would let one more in than allowed.
 */
import { BoxError, invariant } from "@sand/protocol";

export interface Semaphore {
  /** Resolves to the release, which may be called again without effect. Rejects with the signal's reason when aborted. */
  acquire(signal?: AbortSignal): Promise<() => void>;
}

export interface SemaphoreOptions {
  /** how many may wait; one more is refused with `host/overloaded` */
  readonly waitersMax?: number;
}

const defaultWaitersMax = 10_000;

export function createSemaphore(permits: number, options: SemaphoreOptions = {}): Semaphore {
  invariant(Number.isInteger(permits) && permits > 0, "a semaphore has at least one permit");
  const waitersMax = options.waitersMax ?? defaultWaitersMax;
  const waiters = new Set<() => void>();
  let free = permits;

  function giveBack(): void {
    const [next] = waiters;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiters.delete(next);
    next();
  }

  function oneRelease(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      giveBack();
    };
  }

  function wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        waiters.delete(enter);
        reject(asError(signal?.reason));
      };
      const enter = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      waiters.add(enter);
    });
  }

  return {
    async acquire(signal) {
      signal?.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return oneRelease();
      }
      if (waiters.size >= waitersMax)
        throw new BoxError("host/overloaded", "too many wait for the same thing");
      await wait(signal);
      return oneRelease();
    },
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("the wait was cancelled", { cause: reason });
}
