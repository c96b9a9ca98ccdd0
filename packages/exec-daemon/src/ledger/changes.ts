/**
 * Tells many waiters that something changed. A waiter says which version it has seen, so a change between its look and
 * its wait isn't missed.
 */
export interface Changes {
  readonly version: number;
  bump(): void;
  /** Resolves when the version isn't `seen` any more, after `ms`, or when the signal aborts. */
  after(seen: number, ms: number, signal?: AbortSignal): Promise<void>;
}

export function createChanges(): Changes {
  const waiters = new Set<() => void>();
  let version = 0;
  return {
    get version() {
      return version;
    },
    bump() {
      version += 1;
      for (const wake of [...waiters]) wake();
    },
    after(seen, ms, signal) {
      if (seen !== version || signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiters.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        signal?.addEventListener("abort", wake, { once: true });
        waiters.add(wake);
      });
    },
  };
}
