/**
 * A file in pieces: they gather in a hidden file beside the destination, which the commit checks and renames.
 *
 * Nothing is remembered between the calls. The hidden file's name follows from the upload's, and its size says how far
 * it is, so an upload goes on after any restart, and the same piece sent twice is the same piece.
 */
import { createHash } from "node:crypto";
import { constants, lstatSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type {
  FilesUploadCommitRequest,
  FilesUploadCommitResponseSchema,
  FilesUploadDropRequest,
  FilesUploadPieceRequest,
  FilesUploadStatusRequest,
} from "@sand/protocol/exec";
import { checkExpected, checkSize, lookAtCurrent, needsDigest } from "./current-file.ts";
import { within } from "./descriptor.ts";
import { errnoOf } from "./file-errors.ts";
import { describeAt } from "./file-info.ts";
import { fileLimits } from "./file-limits.ts";
import type { OneByOne } from "./one-by-one.ts";
import type { PathFence } from "./path-fence.ts";
import type { AskedPath } from "./raw-path.ts";
import { hashHandle } from "./read.ts";
import { finishFile, newFileMode, syncFolderOf } from "./replace-file.ts";
import { atPlace, type Place } from "./walk-path.ts";

export interface Uploads {
  piece(request: FilesUploadPieceRequest): Promise<{ sizeBytes: bigint }>;
  status(request: FilesUploadStatusRequest): Promise<{ sizeBytes: bigint }>;
  commit(
    request: FilesUploadCommitRequest,
  ): Promise<MessageInitShape<typeof FilesUploadCommitResponseSchema>>;
  drop(request: FilesUploadDropRequest): Promise<{ existed: boolean }>;
}

type Addressed = AskedPath & { readonly uploadId: string };

const partStart = ".sand-upload-";
const partFlags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export function createUploads(deps: { readonly fence: PathFence; readonly oneByOne: OneByOne }): Uploads {
  const { fence, oneByOne } = deps;

  async function at<T>(
    request: Addressed,
    parents: boolean,
    work: (place: Place, part: string) => Promise<T>,
  ): Promise<T> {
    if (request.uploadId === "" || request.uploadId.length > fileLimits.uploadIdMaxChars)
      throw new BoxError("exec/invalid", "upload_id is empty or too long");
    const options = { access: "write", follow: true, parents } as const;
    return await atPlace(fence, fence.locate(request), options, (place) =>
      oneByOne(place.path, () => work(place, partName(place, request.uploadId))),
    );
  }

  return {
    piece: (request) => {
      checkSize(request.data.length);
      return at(request, true, (place, part) => addPiece(place, part, request));
    },
    status: (request) => at(request, false, (place, part) => tellStatus(place, part)).catch(whenAbsent),
    commit: (request) => at(request, true, (place, part) => commit(fence, place, part, request)),
    drop: (request) => at(request, false, async (place, part) => ({ existed: removePart(place, part) })),
  };
}

/** Whether a name is that of an upload on its way. */
export function isUploadPart(name: string): boolean {
  return name.startsWith(partStart) && name.endsWith(".part");
}

function partName(place: Place, uploadId: string): string {
  const digest = createHash("sha256").update(`${uploadId}\0${place.name}`, "latin1").digest("hex");
  return `${partStart}${digest.slice(0, 32)}.part`;
}

async function addPiece(
  place: Place,
  part: string,
  request: FilesUploadPieceRequest,
): Promise<{ sizeBytes: bigint }> {
  if (request.offset === 0n) removeStaleParts(place, part);
  const handle = await openPart(place, part, constants.O_CREAT);
  try {
    const { size } = await handle.stat({ bigint: true });
    if (request.offset > size)
      throw new BoxError("file/precondition", `only ${size} bytes have arrived; go on from there`);
    await writeAll(handle, request.data, Number(request.offset));
    return { sizeBytes: (await handle.stat({ bigint: true })).size };
  } finally {
    await handle.close();
  }
}

async function openPart(place: Place, part: string, more = 0): Promise<FileHandle> {
  const handle = await open(within(place.folder, part), partFlags | more, 0o600);
  const facts = await handle.stat();
  if (facts.isFile() && facts.nlink === 1) return handle;
  await handle.close();
  throw new BoxError("file/denied", "something else has the place of the upload");
}

async function writeAll(handle: FileHandle, data: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await handle.write(data, done, data.length - done, offset + done);
    done += bytesWritten;
  }
}

async function tellStatus(place: Place, part: string): Promise<{ sizeBytes: bigint }> {
  return { sizeBytes: lstatSync(within(place.folder, part), { bigint: true }).size };
}

function whenAbsent(error: unknown): { sizeBytes: bigint } {
  if (error instanceof BoxError && error.code === "file/not-found") return { sizeBytes: 0n };
  throw error;
}

type CommitAnswer = MessageInitShape<typeof FilesUploadCommitResponseSchema>;

async function commit(
  fence: PathFence,
  place: Place,
  part: string,
  request: FilesUploadCommitRequest,
): Promise<CommitAnswer> {
  const current = await lookAtCurrent(fence, place, needsDigest(request.precondition));
  const asAnswer = (created: boolean): CommitAnswer => {
    const file = describeAt(place.folder, place.name, fence.show(fence.locate(request)));
    return { created, ...(file === undefined ? {} : { file }) };
  };
  let handle: FileHandle;
  try {
    handle = await openPart(place, part, request.sizeBytes === 0n ? constants.O_CREAT : 0);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" && (await wasCommitted(fence, place, request))) return asAnswer(false);
    throw error;
  }
  try {
    checkExpected(request.precondition, current.sha256);
    await checkWhole(handle, request);
    const { facts } = current;
    if (request.modifiedAtMs !== undefined) {
      const seconds = Number(request.modifiedAtMs) / 1000;
      await handle.utimes(seconds, seconds);
    }
    await finishFile(handle, place, part, {
      mode: request.mode ?? (facts === undefined ? newFileMode : Number(facts.mode)),
      owner: facts === undefined ? undefined : { uid: Number(facts.uid), gid: Number(facts.gid) },
    });
    renameSync(within(place.folder, part), within(place.folder, place.name));
  } finally {
    await handle.close();
  }
  await syncFolderOf(place);
  return asAnswer(current.facts === undefined);
}

async function checkWhole(handle: FileHandle, request: FilesUploadCommitRequest): Promise<void> {
  const { size } = await handle.stat({ bigint: true });
  if (size !== request.sizeBytes)
    throw new BoxError("file/precondition", `${size} bytes have arrived, and not ${request.sizeBytes}`);
  if (request.sha256 !== "" && (await hashHandle(handle)) !== request.sha256)
    throw new BoxError("file/precondition", "what has arrived has another digest; send it anew");
}

/** A commit whose answer was lost has left a file with exactly this content. */
async function wasCommitted(
  fence: PathFence,
  place: Place,
  request: FilesUploadCommitRequest,
): Promise<boolean> {
  if (request.sha256 === "") return false;
  return (await lookAtCurrent(fence, place, true)).sha256 === request.sha256;
}

function removePart(place: Place, part: string): boolean {
  try {
    unlinkSync(within(place.folder, part));
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Nobody comes back for what a client left behind long ago. */
function removeStaleParts(place: Place, current: string): void {
  for (const name of readdirSync(within(place.folder, "."), { encoding: "latin1" })) {
    if (name === current || !isUploadPart(name)) continue;
    const facts = lstatSync(within(place.folder, name), { throwIfNoEntry: false });
    if (facts !== undefined && systemClock.nowMs() - facts.mtimeMs > fileLimits.uploadStaleMs)
      removePart(place, name);
  }
}
