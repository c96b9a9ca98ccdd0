/** The size of a terminal as a client may ask for it: at least one character, at most what a screen can be. Pure. */
import type { PTY_Size } from "@sand/protocol/e2b";
import { limits } from "../limits.ts";
import { invalid } from "../surface-error.ts";
import type { TerminalSize } from "../surface-ports.ts";

export function clampSize(size: PTY_Size | undefined): TerminalSize {
  if (size === undefined || size.cols === 0 || size.rows === 0) throw invalid("a terminal has a size");
  return {
    cols: Math.min(size.cols, limits.terminalSizeMax),
    rows: Math.min(size.rows, limits.terminalSizeMax),
  };
}
