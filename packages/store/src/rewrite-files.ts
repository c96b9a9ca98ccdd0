/**
 * Writes a database's files again, with the bytes that they show.
 *
 * After a failed sync the kernel may hold pages as clean that never reached the disk. They read well until the machine
 * loses power, and no later sync brings them to the disk. Written again, they are what the next sync is for. So a file
 * that may have met such a fault is believed only after this.
 */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";

const parts = ["", "-wal", "-journal"] as const;
const chunkBytes = 1_048_576;

/** No connection may be open. Files that aren't there are passed over; throws what the disk says. */
export function rewriteFiles(path: string): void {
  for (const part of parts) rewriteFile(`${path}${part}`);
}

function rewriteFile(path: string): void {
  const file = openIfThere(path);
  if (file === undefined) return;
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let at = 0; ; ) {
      const length = readSync(file, chunk, 0, chunkBytes, at);
      if (length === 0) break;
      at += writeSync(file, chunk, 0, length, at);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r+");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
