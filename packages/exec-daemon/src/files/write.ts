/**
 * Write: replaces a whole file atomically, if its state is the expected one, and once for an operation id.
 *
 * The folder is opened and checked, and everything then happens through that descriptor: a command that swaps a
 * folder for a link meanwhile changes nothing. A link at the end of the path is followed, so that it stays a link.
 */
import { createHash } from "node:crypto";
import { constants, lstatSync, readlinkSync, type Stats } from "node:fs";
import { type FileHandle, lchown, mkdir, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createKeyedMutex, failpoint, writeFileAtomic } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { FilesWriteRequest, FilesWriteResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { toFileError } from "./file-errors.ts";
import { type PathFence, pathWithin, realPathOf } from "./path-fence.ts";
import { hashHandle } from "./read.ts";
import type { WriteIntent, WriteJournal } from "./write-journal.ts";

type WriteAnswer = MessageInitShape<typeof FilesWriteResponseSchema>;

export interface WriteDeps {
  readonly fence: PathFence;
  /** absent when the ledger is off */
  readonly journal: WriteJournal | undefined;
}

const linksMax = 16;
const newFileMode = 0o644;

export function createFileWrite(deps: WriteDeps): (request: FilesWriteRequest) => Promise<WriteAnswer> {
  const oneByOne = createKeyedMutex();
  return async (request) => {
    if (request.data.length > limits.fileWriteMaxBytes)
      throw new BoxError("file/too-large", "the content is too large");
    if (request.operationId === "" || request.operationId.length > limits.idMaxChars) {
      throw new BoxError("exec/invalid", "operation_id is empty or too long");
    }
    try {
      const path = followLinks(deps.fence.locate(request.path));
      return await oneByOne(path, () => writeOnce(deps, request, path));
    } catch (error) {
      throw toFileError(error);
    }
  };
}

async function writeOnce(deps: WriteDeps, request: FilesWriteRequest, path: string): Promise<WriteAnswer> {
  const folder = await openFolder(deps.fence, dirname(path));
  try {
    const target = pathWithin(folder, basename(path));
    deps.fence.check(resolve(realPathOf(folder), basename(path)), "write");
    const current = await readCurrent(deps.fence, target);
    const after = createHash("sha256").update(request.data).digest("hex");
    const known = await deps.journal?.find(request.operationId);
    if (known !== undefined) refuseOther(known, path, after);
    if (known?.done === true || (known !== undefined && current.sha256 === after))
      return answer(request, known, true);
    checkState(request, current.sha256, known);
    const intent: WriteIntent = {
      path,
      before: current.sha256,
      after,
      created: current.sha256 === null,
      done: false,
    };
    await deps.journal?.put(request.operationId, intent);
    failpoint("file.intended");
    await replace({ request, folder, target, current: current.facts });
    failpoint("file.written");
    await deps.journal?.put(request.operationId, { ...intent, done: true });
    return answer(request, intent, false);
  } finally {
    await folder.close();
  }
}

function refuseOther(known: WriteIntent, path: string, after: string): void {
  if (known.path === path && known.after === after) return;
  throw new BoxError("exec/key-conflict", "this operation_id was used for another write");
}

function checkState(
  request: FilesWriteRequest,
  current: string | null,
  known: WriteIntent | undefined,
): void {
  if (known !== undefined) {
    if (current === known.before) return;
    throw new BoxError(
      "file/precondition",
      "the file was changed by somebody else since this write was begun",
    );
  }
  if (request.precondition === "" || request.precondition === (current ?? "absent")) return;
  const found = current === null ? "there is no such file" : "the file has other content";
  throw new BoxError("file/precondition", `${found} than this write expects`);
}

async function openFolder(fence: PathFence, path: string): Promise<FileHandle> {
  try {
    return await fence.open(path, constants.O_RDONLY | constants.O_DIRECTORY, "write");
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== "file/not-found") throw error;
  }
  // Parents are made only below a folder that may be written.
  const parent = await openFolder(fence, dirname(path));
  try {
    await mkdir(pathWithin(parent, basename(path))).catch(ignoreExisting);
  } finally {
    await parent.close();
  }
  return await fence.open(path, constants.O_RDONLY | constants.O_DIRECTORY, "write");
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
}

interface CurrentFile {
  readonly sha256: string | null;
  readonly facts: Stats | undefined;
}

async function readCurrent(fence: PathFence, target: string): Promise<CurrentFile> {
  let handle: FileHandle;
  try {
    handle = await fence.open(target, constants.O_RDONLY | constants.O_NOFOLLOW, "write");
  } catch (error) {
    if (error instanceof BoxError && error.code === "file/not-found")
      return { sha256: null, facts: undefined };
    throw error;
  }
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw new BoxError("file/not-a-file", "there is something else than a file");
    return { sha256: await hashHandle(handle), facts };
  } finally {
    await handle.close();
  }
}

interface Replacement {
  readonly request: FilesWriteRequest;
  readonly folder: FileHandle;
  readonly target: string;
  readonly current: Stats | undefined;
}

async function replace({ request, folder, target, current }: Replacement): Promise<void> {
  const kept = current === undefined ? newFileMode : current.mode & 0o7777;
  await writeFileAtomic(target, request.data, { mode: (request.mode ?? kept) & 0o7777 });
  if (process.geteuid?.() !== 0) return;
  // Written by root, but it belongs to whoever the old one, or the folder, belongs to.
  const owner = current ?? (await stat(pathWithin(folder, ".")));
  if (owner.uid !== 0 || owner.gid !== 0) await lchown(target, owner.uid, owner.gid);
}

/** Where a chain of links ends, whether something is there or not. */
function followLinks(path: string): string {
  let at = path;
  for (let count = 0; count < linksMax; count += 1) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new BoxError("file/denied", "the path goes through too many links");
}

function answer(request: FilesWriteRequest, intent: WriteIntent, existing: boolean): WriteAnswer {
  return { existing, created: intent.created, sha256: intent.after, sizeBytes: BigInt(request.data.length) };
}
