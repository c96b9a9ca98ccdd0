/**
 * Ends the answer of a caller that has stopped reading. Nothing grows for such a caller, but it holds one of the places
 * for readers, and half-open connections would use them all up. What it missed is in the spool: it attaches again.
 */
import type { ServerResponse } from "node:http";

/** A caller that took nothing for `stallMaxMs` is cut off, at the latest after twice that. */
export function endWhenStalled(response: ServerResponse, stallMaxMs: number): void {
  let takenBefore = -1;
  const timer = setInterval(() => {
    const { socket } = response;
    if (socket === null || !response.writableNeedDrain) {
      takenBefore = -1;
      return;
    }
    const taken = socket.bytesWritten - socket.writableLength;
    if (taken === takenBefore) response.destroy();
    takenBefore = taken;
  }, stallMaxMs);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}
