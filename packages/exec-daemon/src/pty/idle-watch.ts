/** Calls once when nobody has been there for as long as the grace; whoever comes in time stops it. */
export interface IdleWatch {
  set(isIdle: boolean): void;
}

export function createIdleWatch(graceMs: number, onIdle: () => void): IdleWatch {
  // Node's timers hold about 24 days; a longer grace is waited for in pieces.
  const pieceMaxMs = 2 ** 31 - 1;
  let timer: NodeJS.Timeout | undefined;

  function arm(leftMs: number): void {
    const next = (): void => (leftMs > pieceMaxMs ? arm(leftMs - pieceMaxMs) : onIdle());
    timer = setTimeout(next, Math.min(leftMs, pieceMaxMs));
    timer.unref();
  }

  return {
    set(isIdle) {
      clearTimeout(timer);
      timer = undefined;
      if (isIdle) arm(graceMs);
    },
  };
}
