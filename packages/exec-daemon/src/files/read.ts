/** Read: a range of one file, with the size and digest of the whole, and whether it is text. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesReadRequest, FilesReadResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { toFileError } from "./file-errors.ts";
import { looksBinary } from "./looks-binary.ts";
import type { PathFence } from "./path-fence.ts";

export async function readFileRange(
  fence: PathFence,
  request: FilesReadRequest,
): Promise<MessageInitShape<typeof FilesReadResponseSchema>> {
  const path = fence.locate(request.path);
  const handle = await fence.open(path, constants.O_RDONLY, "read");
  try {
    const facts = await handle.stat();
    if (facts.isDirectory()) throw new BoxError("file/not-a-file", "this is a folder");
    if (!facts.isFile()) throw new BoxError("file/not-a-file", "this is not a regular file");
    const offset = Number(request.offset);
    const lengthMax = Math.min(
      request.lengthMax === 0 ? limits.fileReadMaxBytes : request.lengthMax,
      limits.fileReadMaxBytes,
    );
    return {
      path: fence.show(path),
      data: await readAt(handle, offset, Math.min(lengthMax, Math.max(0, facts.size - offset))),
      offset: BigInt(offset),
      totalBytes: BigInt(facts.size),
      sha256: facts.size <= limits.fileHashMaxBytes ? await hashHandle(handle) : "",
      binary: looksBinary(await readAt(handle, 0, Math.min(limits.binaryProbeBytes, facts.size))),
    };
  } catch (error) {
    throw toFileError(error);
  } finally {
    await handle.close();
  }
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

const hashPieceBytes = 1024 * 1024;

/** The digest of a whole open file, in pieces, so that nobody waits for a large one. */
export async function hashHandle(handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  for (let offset = 0; ; ) {
    const piece = await readAt(handle, offset, hashPieceBytes);
    if (piece.length === 0) return hash.digest("hex");
    hash.update(piece);
    offset += piece.length;
  }
}
