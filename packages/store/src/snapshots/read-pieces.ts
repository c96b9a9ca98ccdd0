/** Cuts content into pieces and names it and them by their hashes. Synchronous, so that a pinned database can be read. */
import { createHash } from "node:crypto";
import { sha256Of } from "./hash.ts";
import { snapshotLimits } from "./limits.ts";

export interface Content {
  readonly bytes: number;
  readonly sha256: string;
  readonly chunks: readonly string[];
}

export function readPieces(
  bytes: number,
  read: (from: number, length: number) => Buffer,
  onPiece: (sha256: string, piece: Buffer) => void,
): Content {
  const whole = createHash("sha256");
  const chunks: string[] = [];
  const isOne = bytes <= snapshotLimits.chunkBytes;
  for (let from = 0; from < bytes; from += snapshotLimits.chunkBytes) {
    const piece = read(from, Math.min(snapshotLimits.chunkBytes, bytes - from));
    const sha256 = sha256Of(piece);
    if (!isOne) whole.update(piece);
    chunks.push(sha256);
    onPiece(sha256, piece);
  }
  return { bytes, sha256: (isOne ? chunks[0] : undefined) ?? whole.digest("hex"), chunks };
}
