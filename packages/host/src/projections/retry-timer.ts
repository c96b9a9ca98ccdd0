/** Tries something again after failures, at distances that double up to a longest one. */
export interface RetryTimer {
  /** Something failed. True for the first failure since things went well. */
  later(): boolean;
  isWaiting(): boolean;
  /** Things go well again. */
  reset(): void;
  stop(): void;
}

export function createRetryTimer(
  { retryMs, retryMaxMs }: { readonly retryMs: number; readonly retryMaxMs: number },
  run: () => void,
): RetryTimer {
  let pauseMs = retryMs;
  let timer: NodeJS.Timeout | undefined;

  return {
    later() {
      const isFirst = pauseMs === retryMs && timer === undefined;
      if (timer !== undefined) return false;
      timer = setTimeout(() => {
        timer = undefined;
        run();
      }, pauseMs).unref();
      pauseMs = Math.min(pauseMs * 2, retryMaxMs);
      return isFirst;
    },
    isWaiting: () => timer !== undefined,
    reset() {
      pauseMs = retryMs;
    },
    stop: () => clearTimeout(timer),
  };
}
