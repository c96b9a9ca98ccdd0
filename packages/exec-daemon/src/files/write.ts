/**
 * Write: replaces a whole file atomically, if its state is the expected one, and once for an operation id.
 *
 * The folder is opened and checked, and everything then happens through that descriptor: a command that swaps a
 * folder for a link meanwhile changes nothing. A link at the end of the path is followed, so that it stays a link.
 */
import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type { FilesWriteRequest, FilesWriteResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { checkExpected, checkSize, readCurrent } from "./current-file.ts";
import type { OneByOne } from "./one-by-one.ts";
import type { PathFence } from "./path-fence.ts";
import { textOf } from "./raw-path.ts";
import { newFileMode, replaceFile } from "./replace-file.ts";
import { atPlace, type Place } from "./walk-path.ts";
import type { WriteIntent, WriteJournal } from "./write-journal.ts";

type WriteAnswer = MessageInitShape<typeof FilesWriteResponseSchema>;

export interface WriteDeps {
  readonly fence: PathFence;
  /** absent when the ledger is off */
  readonly journal: WriteJournal | undefined;
  readonly oneByOne: OneByOne;
}

export function createFileWrite(deps: WriteDeps): (request: FilesWriteRequest) => Promise<WriteAnswer> {
  const { fence, oneByOne } = deps;
  return async (request) => {
    checkSize(request.data.length);
    if (request.operationId === "" || request.operationId.length > limits.idMaxChars)
      throw new BoxError("exec/invalid", "operation_id is empty or too long");
    const options = { access: "write", follow: true, parents: true } as const;
    return await atPlace(fence, fence.locate(request), options, (place) =>
      oneByOne(place.path, () => writeOnce(deps, request, place)),
    );
  };
}

async function writeOnce(deps: WriteDeps, request: FilesWriteRequest, place: Place): Promise<WriteAnswer> {
  const path = textOf(place.path);
  const current = await readCurrent(deps.fence, place);
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
  const { facts } = current;
  await replaceFile(place, {
    mode: request.mode ?? (facts === undefined ? newFileMode : Number(facts.mode)),
    owner: facts === undefined ? undefined : { uid: Number(facts.uid), gid: Number(facts.gid) },
    fill: (handle) => handle.writeFile(request.data),
  });
  await deps.journal?.put(request.operationId, { ...intent, done: true });
  return answer(request, intent, false);
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
  if (known === undefined) {
    checkExpected(request.precondition, current);
    return;
  }
  if (current !== known.before) {
    throw new BoxError(
      "file/precondition",
      "the file was changed by somebody else since this write was begun",
    );
  }
}

function answer(request: FilesWriteRequest, intent: WriteIntent, existing: boolean): WriteAnswer {
  return { existing, created: intent.created, sha256: intent.after, sizeBytes: BigInt(request.data.length) };
}
