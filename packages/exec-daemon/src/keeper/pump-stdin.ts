/**
 * Passes a command's input on from `stdin.log`, as it grows, until `stdin.end` is there. The file is what makes input
 * survive the daemon and lets a caller repeat a write; the command sees each byte once, in order.
 */
import { closeSync, existsSync, openSync, readSync, watch } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { executionFiles } from "../ledger/execution-folder.ts";

const pieceBytes = 64 * 1024;
/** a missed notice of the file system delays input by at most this */
const lookAgainMs = 1000;

/** Ends when all input is passed on, or the command no longer reads, or the signal aborts. */
export async function pumpStdin(folder: string, target: Socket, signal: AbortSignal): Promise<void> {
  let offset = 0;
  let isGone = false;
  target.on("error", () => {
    // The command closed its input. What is written from now on has no reader.
    isGone = true;
  });
  target.on("close", () => {
    isGone = true;
  });
  // A write into a full pipe that nobody reads ends only by this.
  signal.addEventListener("abort", () => target.destroy(), { once: true });
  while (!isGone && !signal.aborted) {
    // Looked at before reading: bytes that were written before the end mark are then all in the file.
    const isEnd = existsSync(join(folder, executionFiles.stdinEnd));
    const piece = readPiece(join(folder, executionFiles.stdin), offset);
    if (piece.length > 0) {
      offset += piece.length;
      await writePiece(target, piece);
    } else if (isEnd) {
      target.end();
      return;
    } else {
      await nextChange(folder, signal, target);
    }
  }
  target.destroy();
}

function readPiece(path: string, offset: number): Buffer {
  if (!existsSync(path)) return Buffer.alloc(0);
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(pieceBytes);
    return buffer.subarray(0, readSync(file, buffer, 0, pieceBytes, offset));
  } finally {
    closeSync(file);
  }
}

function writePiece(target: Socket, piece: Buffer): Promise<void> {
  return new Promise((resolve) => {
    // A failed write arrives as the socket's error as well, which ends the loop.
    target.write(piece, () => resolve());
  });
}

function nextChange(folder: string, signal: AbortSignal, target: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      watcher.close();
      signal.removeEventListener("abort", done);
      target.removeListener("close", done);
      resolve();
    };
    const watcher = watch(folder, (_kind, name) => {
      if (name === executionFiles.stdin || name === executionFiles.stdinEnd) done();
    });
    watcher.on("error", done);
    const timer = setTimeout(done, lookAgainMs);
    signal.addEventListener("abort", done, { once: true });
    target.once("close", done);
    // Written between our last look and the watch: look again at once.
    if (signal.aborted || target.destroyed) done();
  });
}
