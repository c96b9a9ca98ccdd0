/**
 * Applies a unified patch to the files below a folder: all of it or nothing. Every file is read and every change worked
 * out before the first one is written; when a write fails, what was written before it is put back.
 */
import { constants, unlinkSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import { DiffStatus } from "@sand/protocol/exec";
import { within } from "./descriptor.ts";
import { errnoOf, toFileError } from "./file-errors.ts";
import { fileLimits } from "./file-limits.ts";
import { openRegular } from "./open-regular.ts";
import { type FilePatch, readPatch } from "./patch-files.ts";
import type { PathFence } from "./path-fence.ts";
import { type AskedPath, joinRaw, type RawPath, textOf } from "./raw-path.ts";
import { newFileMode, replaceFile } from "./replace-file.ts";
import { atPlace, type Place } from "./walk-path.ts";

export interface PatchRequest {
  readonly at: AskedPath;
  readonly patch: Uint8Array;
  readonly strip: number | undefined;
  readonly reverse: boolean;
  readonly checkOnly: boolean;
}

export interface PatchAnswer {
  readonly files: readonly { readonly path: string; readonly status: DiffStatus }[];
}

interface Content {
  readonly text: string;
  readonly mode: number;
}

/** What one path is to hold; undefined: nothing. */
interface Planned {
  readonly path: RawPath;
  readonly before: Content | undefined;
  readonly after: Content | undefined;
}

export async function applyPatchTo(fence: PathFence, request: PatchRequest): Promise<PatchAnswer> {
  if (request.patch.length > fileLimits.patchMaxBytes)
    throw new BoxError("file/too-large", `a patch has at most ${fileLimits.patchMaxBytes} bytes`);
  const root = fence.locate(request.at);
  const patches = await readPatch(request);
  const plan = createPlan(fence);
  for (const patch of patches) await planFile(plan, root, patch);
  const changes = plan.changes();
  if (!request.checkOnly) await writeAll(fence, changes);
  return { files: patches.map((patch) => ({ path: textOf(patch.shown), status: statusOf(patch) })) };
}

interface Plan {
  /** as earlier parts of the patch leave it */
  read(path: RawPath): Promise<Content | undefined>;
  set(path: RawPath, content: Content | undefined): void;
  changes(): readonly Planned[];
}

function createPlan(fence: PathFence): Plan {
  const found = new Map<RawPath, Content | undefined>();
  const planned = new Map<RawPath, Content | undefined>();
  const read = async (path: RawPath): Promise<Content | undefined> => {
    if (planned.has(path)) return planned.get(path);
    if (!found.has(path)) found.set(path, await readContent(fence, path));
    return found.get(path);
  };
  return {
    read,
    set: (path, content) => void planned.set(path, content),
    changes: () => [...planned].map(([path, after]) => ({ path, before: found.get(path), after })),
  };
}

async function planFile(plan: Plan, root: RawPath, patch: FilePatch): Promise<void> {
  const below = (path: RawPath | undefined): RawPath | undefined =>
    path === undefined ? undefined : joinRaw(root, path);
  const [from, to] = [below(patch.oldPath), below(patch.newPath)];
  const before = await readSource(plan, from, patch);
  if (to !== undefined && to !== from && (await plan.read(to)) !== undefined)
    refuse(patch, "is there already");
  const text = await patched(before?.text ?? "", patch);
  if (to === undefined && text !== "") refuse(patch, "holds more than the patch removes");
  if (from !== undefined && from !== to && !patch.isCopy) plan.set(from, undefined);
  if (to !== undefined) plan.set(to, { text, mode: patch.mode ?? before?.mode ?? newFileMode });
}

async function readSource(
  plan: Plan,
  from: RawPath | undefined,
  patch: FilePatch,
): Promise<Content | undefined> {
  return from === undefined ? undefined : ((await plan.read(from)) ?? refuse(patch, "isn't there"));
}

function refuse({ shown }: FilePatch, why: string): never {
  throw new BoxError("file/precondition", `${textOf(shown)} ${why}`);
}

async function patched(text: string, patch: FilePatch): Promise<string> {
  const { parsed } = patch;
  if (parsed.hunks.length === 0) return text;
  const { applyPatch } = await import("diff");
  const after = applyPatch(text, parsed, { fuzzFactor: 0, autoConvertLineEndings: false });
  return after === false ? refuse(patch, "isn't what the patch was made for") : after;
}

const atEnd = { access: "write", follow: true } as const;

async function readContent(fence: PathFence, path: RawPath): Promise<Content | undefined> {
  try {
    return await atPlace(fence, path, atEnd, async (place) => {
      const handle = await openRegular(fence, place, constants.O_RDONLY, "write");
      try {
        const facts = await handle.stat();
        if (facts.size > fileLimits.patchMaxBytes)
          throw new BoxError("file/too-large", "a file is too large to be patched");
        return { text: (await handle.readFile()).toString("latin1"), mode: facts.mode & 0o7777 };
      } finally {
        await handle.close();
      }
    });
  } catch (error) {
    const failure = toFileError(error);
    if (failure.code === "file/not-found") return undefined;
    throw failure;
  }
}

async function writeAll(fence: PathFence, changes: readonly Planned[]): Promise<void> {
  const done: Planned[] = [];
  try {
    for (const change of changes) {
      await put(fence, change.path, change.after);
      done.push(change);
    }
  } catch (error) {
    // What can't be put back either is told by the first failure, which is the cause of both.
    for (const { path, before } of done.reverse()) await put(fence, path, before).catch(() => undefined);
    throw error;
  }
}

async function put(fence: PathFence, path: RawPath, content: Content | undefined): Promise<void> {
  await atPlace(fence, path, { ...atEnd, parents: content !== undefined }, async (place) => {
    if (content === undefined) {
      remove(place);
      return;
    }
    await replaceFile(place, {
      mode: content.mode,
      owner: undefined,
      fill: (handle) => handle.writeFile(content.text, "latin1"),
    });
  });
}

function remove(place: Place): void {
  try {
    unlinkSync(within(place.folder, place.name));
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

function statusOf({ oldPath, newPath, isCopy }: FilePatch): DiffStatus {
  if (oldPath === undefined || isCopy) return DiffStatus.ADDED;
  if (newPath === undefined) return DiffStatus.REMOVED;
  return oldPath === newPath ? DiffStatus.MODIFIED : DiffStatus.RENAMED;
}
