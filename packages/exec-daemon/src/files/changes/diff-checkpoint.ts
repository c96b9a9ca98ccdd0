/** What has changed in a tree since a checkpoint of it. */
import { BoxError } from "@sand/protocol";
import { type DiffQuestion, FileType } from "@sand/protocol/exec";
import { fileLimits } from "../file-limits.ts";
import type { BoxFiles } from "../file-verbs.ts";
import { asRaw, joinRaw, oddBytesOf, type RawPath, rawOfText, textOf, wirePath } from "../raw-path.ts";
import type { CheckpointEntry } from "./checkpoint-records.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { compareTrees, type TreeDifference } from "./compare-trees.ts";
import type { Difference, DiffFileMessage } from "./diff-message.ts";
import { createPatchText, type PatchText } from "./patch-text.ts";
import { readSmallFile, readTree } from "./take-checkpoint.ts";

export interface CheckpointDiffDeps {
  readonly files: BoxFiles;
  readonly store: CheckpointStore;
}

export async function diffCheckpoint(
  deps: CheckpointDiffDeps,
  id: string,
  question: DiffQuestion,
  signal: AbortSignal,
): Promise<Difference> {
  const { facts, manifest } = await deps.store.find(id);
  const root = question.path === "" ? facts.path : question.path;
  const present: CheckpointEntry[] = [];
  for await (const entry of readTree(
    deps.files,
    { path: root, ignore: facts.ignore },
    { digests: true, signal },
  ))
    present.push({ ...entry, size: entry.sizeBytes });
  const all = compareTrees(manifest.entries, present).filter((one) => isWanted(one, question.only));
  const patch = createPatchText();
  const told: DiffFileMessage[] = [];
  for (const one of all.slice(0, fileLimits.diffFilesMax)) {
    signal.throwIfAborted();
    const lines = question.namesOnly
      ? { addedLines: 0, removedLines: 0, binary: false }
      : await addPatch(deps, one, { root: rawOfText(root), patch, contextLines: question.contextLines ?? 3 });
    const old = one.before?.path ?? asRaw("");
    told.push({
      ...wirePath(one.path),
      status: one.status,
      ...(old === one.path ? {} : { oldPath: textOf(old), oldPathBytes: oddBytesOf(old) }),
      ...lines,
    });
  }
  return {
    files: told,
    patch: patch.whole(),
    truncated: patch.truncated || all.length > told.length,
  };
}

function isWanted({ path, before }: TreeDifference, only: readonly string[]): boolean {
  if (only.length === 0) return true;
  const names = [path, before?.path ?? path];
  return only.some((wanted) => {
    const start = rawOfText(wanted.replace(/\/+$/u, ""));
    return names.some((name) => name === start || name.startsWith(`${start}/`));
  });
}

interface PatchPlace {
  readonly root: RawPath;
  readonly patch: PatchText;
  readonly contextLines: number;
}

async function addPatch(
  { files, store }: CheckpointDiffDeps,
  { before, after, path }: TreeDifference,
  { root, patch, contextLines }: PatchPlace,
): Promise<{ addedLines: number; removedLines: number; binary: boolean }> {
  const unknown = { addedLines: 0, removedLines: 0, binary: true };
  if ([before, after].some((side) => side !== undefined && side.type !== FileType.FILE)) return unknown;
  const old = before === undefined ? undefined : await store.content(before.sha256);
  const now = after === undefined ? undefined : await readOrNothing(files, joinRaw(root, path));
  // Too large, or gone by now: there is a difference, and nobody can say which.
  if ((before !== undefined && old === undefined) || (after !== undefined && now === undefined))
    return unknown;
  const answer = await files.diffTexts({
    before: old,
    after: now,
    oldName: before?.path ?? path,
    newName: path,
    contextLines,
  });
  const modes = { before: before?.mode, after: after?.mode };
  if (!answer.binary) patch.add(withGitHeader(answer.patch, before?.path ?? path, path, modes));
  const { addedLines, removedLines, binary } = answer;
  return { addedLines, removedLines, binary };
}

/** So that a new file, a removed one, a rename and a mode can be applied from the patch as well. */
function withGitHeader(
  patch: Uint8Array,
  oldPath: RawPath,
  newPath: RawPath,
  { before, after }: { readonly before: number | undefined; readonly after: number | undefined },
): Uint8Array {
  const mode = (bits: number): string => `100${(bits & 0o777).toString(8).padStart(3, "0")}`;
  const lines = [`diff --git a/${oldPath} b/${newPath}`];
  if (before === undefined && after !== undefined) lines.push(`new file mode ${mode(after)}`);
  else if (after === undefined && before !== undefined) lines.push(`deleted file mode ${mode(before)}`);
  else if (before !== undefined && after !== undefined && before !== after)
    lines.push(`old mode ${mode(before)}`, `new mode ${mode(after)}`);
  if (oldPath !== newPath) lines.push(`rename from ${oldPath}`, `rename to ${newPath}`);
  return Buffer.concat([Buffer.from(`${lines.join("\n")}\n`, "latin1"), patch]);
}

async function readOrNothing(files: BoxFiles, path: RawPath): Promise<Uint8Array | undefined> {
  try {
    return await readSmallFile(files, path);
  } catch (error) {
    if (error instanceof BoxError && error.code.startsWith("file/")) return undefined;
    throw error;
  }
}
