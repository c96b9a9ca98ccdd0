/** A terminal's size. Several wishes within a moment become one, and one that waits is applied before the next input. */
import { clampSize } from "./frames.ts";
import { ptyLimits } from "./pty-limits.ts";
import type { TerminalSize } from "./terminal-backend.ts";

export interface SizeKeeper {
  readonly current: TerminalSize;
  wish(size: TerminalSize): void;
  /** Applies a wish that waits. */
  settle(): void;
  close(): void;
}

export function createSizeKeeper(first: TerminalSize, apply: (size: TerminalSize) => void): SizeKeeper {
  let current = first;
  let next: TerminalSize | undefined;
  let timer: NodeJS.Timeout | undefined;

  function close(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function settle(): void {
    close();
    if (next === undefined) return;
    const isNew = next.cols !== current.cols || next.rows !== current.rows;
    current = next;
    next = undefined;
    if (isNew) apply(current);
  }

  return {
    get current() {
      return current;
    },
    wish(size) {
      const clamped = clampSize(size);
      if (clamped === undefined) return;
      next = { cols: clamped.cols, rows: clamped.rows };
      timer ??= setTimeout(settle, ptyLimits.resizeCoalesceMs);
    },
    settle,
    close,
  };
}
