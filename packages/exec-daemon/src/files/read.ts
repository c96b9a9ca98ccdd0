/** Read: a range of one file, with the size and digest of the whole, and whether it is text. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesReadRequest, FilesReadResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { versionOf } from "./descriptor.ts";
import { looksBinary } from "./looks-binary.ts";
import { openRegular } from "./open-regular.ts";
import type { PathFence } from "./path-fence.ts";
import { wirePath } from "./raw-path.ts";
import { atPlace } from "./walk-path.ts";

type ReadAnswer = MessageInitShape<typeof FilesReadResponseSchema>;

export async function readFileRange(fence: PathFence, request: FilesReadRequest): Promise<ReadAnswer> {
  const path = fence.locate(request);
  return await atPlace(fence, path, { access: "read", follow: true }, async (place) => {
    const handle = await openRegular(fence, place, constants.O_RDONLY, "read");
    try {
      return { ...wirePath(fence.show(path)), ...(await readRange(handle, request)) };
    } finally {
      await handle.close();
    }
  });
}

async function readRange(handle: FileHandle, request: FilesReadRequest): Promise<ReadAnswer> {
  const facts = await handle.stat({ bigint: true });
  const [size, version] = [Number(facts.size), versionOf(facts)];
  if (request.expectedVersion !== "" && request.expectedVersion !== version)
    throw new BoxError("file/precondition", "the file was changed since it was read first");
  const offset = Number(request.offset);
  const lengthMax = Math.min(
    request.lengthMax === 0 ? limits.fileReadMaxBytes : request.lengthMax,
    limits.fileReadMaxBytes,
  );
  const isHashed = !request.noDigest && size <= limits.fileHashMaxBytes;
  return {
    data: await readAt(handle, offset, Math.min(lengthMax, Math.max(0, size - offset))),
    offset: request.offset,
    totalBytes: facts.size,
    sha256: isHashed ? await hashHandle(handle) : "",
    binary: looksBinary(await readAt(handle, 0, Math.min(limits.binaryProbeBytes, size))),
    version,
    mode: Number(facts.mode) & 0o7777,
    modifiedAtMs: facts.mtimeMs > 0n ? facts.mtimeMs : 0n,
  };
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
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

/** The digest of a whole open file, in pieces of one buffer, so that nobody waits for a large one. */
export async function hashHandle(handle: FileHandle, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const piece = new Uint8Array(hashPieceBytes);
  for (let offset = 0; ; ) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(piece, 0, piece.length, offset);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(piece.subarray(0, bytesRead));
    offset += bytesRead;
  }
}
