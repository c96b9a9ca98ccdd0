/**
 * Writes one file from a stream: nothing shows at its path before it is whole. What fits one piece is written at once,
 * more goes by the daemon's uploads, so that memory holds a piece and not the file.
 */
import { randomUUID } from "node:crypto";
import { limits } from "../limits.ts";
import { invalid, sandCodeOf } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";

type FilesClient = DaemonPorts["files"];

export async function uploadFile(
  files: FilesClient,
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    await writeContent(files, path, content);
  } catch (error) {
    // A folder in the way, or a file where a folder would have to be.
    const code = sandCodeOf(error);
    if (code === "file/not-a-file" || code === "file/not-a-directory")
      throw invalid("there is a folder at this path, or a file above it");
    throw error;
  }
}

async function writeContent(
  files: FilesClient,
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const uploadId = randomUUID();
  let offset = 0;
  let isBegun = false;
  try {
    let last = new Uint8Array(0);
    for await (const piece of toPieces(content)) {
      if (last.length > 0) {
        isBegun = true;
        await files.uploadPiece({ path, uploadId, offset: BigInt(offset), data: last });
        offset += last.length;
      }
      if (offset + piece.length > limits.uploadMaxBytes) throw invalid("the file is too large");
      last = piece;
    }
    if (!isBegun) {
      await files.write({ path, data: last, operationId: `e2b-${uploadId}` });
      return;
    }
    await files.uploadPiece({ path, uploadId, offset: BigInt(offset), data: last });
    await files.uploadCommit({ path, uploadId, sizeBytes: BigInt(offset + last.length) });
    isBegun = false;
  } finally {
    if (isBegun) await files.uploadDrop({ path, uploadId }).catch(() => undefined);
  }
}

/** Pieces of one size, whatever sizes come. */
async function* toPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of content) {
    waiting.push(bytes);
    size += bytes.length;
    while (size >= limits.pieceBytes) {
      const all = Buffer.concat(waiting, size);
      yield new Uint8Array(all.subarray(0, limits.pieceBytes));
      waiting = [all.subarray(limits.pieceBytes)];
      size -= limits.pieceBytes;
    }
  }
  if (size > 0) yield new Uint8Array(Buffer.concat(waiting, size));
}
