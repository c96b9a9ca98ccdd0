/** Passes our standard input on to a command in the box, piece by piece, until either side has had enough. */
import type { Readable } from "node:stream";
import type { BoxExecution } from "./box-execution.ts";

const pieceMaxBytes = 256 * 1024;

/** Rejects when the daemon refuses the input; a command that takes no more is no failure. */
export async function feedInput(
  execution: Pick<BoxExecution, "write" | "closeStdin">,
  source: Readable,
  isOver: () => boolean,
): Promise<void> {
  let offset = 0;
  try {
    for await (const chunk of source) {
      const bytes: Uint8Array = chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
      for (let at = 0; at < bytes.length; at += pieceMaxBytes) {
        const piece = bytes.subarray(at, at + pieceMaxBytes);
        if (isOver() || !(await execution.write(offset, piece))) return;
        offset += piece.length;
      }
    }
    if (!isOver()) await execution.closeStdin();
  } catch (error) {
    // The source is closed under us when the command is over, and what was on its way doesn't matter any more.
    if (!isOver()) throw error;
  }
}
