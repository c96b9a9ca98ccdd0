/** Takes a checkpoint of a tree: what is there, and the contents of files that aren't too large to be compared later. */
import { createHash, randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import {
  type CheckpointSchema,
  type CreateCheckpointRequest,
  FilesReadRequestSchema,
  FileType,
} from "@sand/protocol/exec";
import { fileLimits } from "../file-limits.ts";
import type { BoxFiles } from "../file-verbs.ts";
import { ignoredNames } from "../ignored-names.ts";
import { bytesOf, joinRaw, type RawPath, rawOfText } from "../raw-path.ts";
import type { TreeEntry } from "../walk-tree.ts";
import type { CheckpointEntry, CheckpointFacts } from "./checkpoint-records.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";

export type CheckpointMessage = MessageInitShape<typeof CheckpointSchema>;

const labelMaxChars = 200;

interface CheckpointDeps {
  readonly files: BoxFiles;
  readonly store: CheckpointStore;
}

export async function takeCheckpoint(
  deps: CheckpointDeps,
  request: CreateCheckpointRequest,
  signal: AbortSignal,
): Promise<CheckpointMessage> {
  const { files, store } = deps;
  if (request.label.length > labelMaxChars) throw new BoxError("exec/invalid", "the label is too long");
  await refuseTooLarge(files, request, signal);
  const found: TreeEntry[] = [];
  for await (const entry of readTree(files, request, { digests: true, signal })) found.push(entry);
  const entries = found.map(toEntry);
  // Others wait from here on only: what is read of a tree is read by each for itself.
  return await store.alone(async () => {
    const withoutContent = await keepContents(deps, rawOfText(request.path), { found, signal });
    const facts: CheckpointFacts = {
      id: randomUUID(),
      path: request.path,
      label: request.label,
      createdAtMs: systemClock.nowMs(),
      files: entries.filter(({ type }) => type !== FileType.DIRECTORY).length,
      sizeBytes: sizeOf(found),
      withoutContent,
      hash: hashOfContent(entries),
      ignore: request.ignore,
    };
    await store.add(facts, { entries });
    return toMessage(facts);
  }, signal);
}

/** A look without reading a file: what is too large is refused before anything was done for it. */
async function refuseTooLarge(
  files: BoxFiles,
  request: CreateCheckpointRequest,
  signal: AbortSignal,
): Promise<void> {
  let sizeBytes = 0;
  for await (const entry of readTree(files, request, { digests: false, signal })) {
    sizeBytes += sizeOf([entry]);
    if (sizeBytes <= fileLimits.checkpointMaxBytes) continue;
    throw new BoxError("file/too-large", `the tree has more than ${fileLimits.checkpointMaxBytes} bytes`);
  }
}

function sizeOf(entries: readonly TreeEntry[]): number {
  return entries.reduce((sum, { type, sizeBytes }) => sum + (type === FileType.FILE ? sizeBytes : 0), 0);
}

/** How many files are known by their digest alone. */
async function keepContents(
  { files, store }: CheckpointDeps,
  root: RawPath,
  { found, signal }: { readonly found: readonly TreeEntry[]; readonly signal: AbortSignal },
): Promise<number> {
  let withoutContent = 0;
  for (const entry of found) {
    signal.throwIfAborted();
    if (entry.type !== FileType.FILE) continue;
    if (!(await keepContent(files, store, joinRaw(root, entry.path), entry))) withoutContent += 1;
  }
  return withoutContent;
}

export interface TreeOptions {
  readonly digests: boolean;
  readonly signal: AbortSignal;
}

export async function* readTree(
  files: BoxFiles,
  at: { readonly path: string; readonly ignore: readonly string[] },
  { digests, signal }: TreeOptions,
): AsyncGenerator<TreeEntry> {
  const request = {
    at: { path: at.path, pathBytes: new Uint8Array() },
    ignore: [...ignoredNames(at.ignore)],
    digests,
    entriesMax: fileLimits.checkpointEntriesMax,
  };
  for await (const { entries } of files.tree(request, signal)) yield* entries;
  // A stream that was told to stop ends like one that is whole.
  signal.throwIfAborted();
}

function toEntry({ path, type, mode, sizeBytes, sha256 }: TreeEntry): CheckpointEntry {
  return { path, type, mode, size: sizeBytes, sha256 };
}

async function keepContent(
  files: BoxFiles,
  store: CheckpointStore,
  path: RawPath,
  { sha256, sizeBytes }: TreeEntry,
): Promise<boolean> {
  if (sizeBytes > fileLimits.diffFileMaxBytes) return false;
  try {
    return await store.keep(sha256, () => readExactly(files, path, sha256));
  } catch (error) {
    // Changed or removed since it was listed: its digest alone is known.
    if (error instanceof BoxError && error.code.startsWith("file/")) return false;
    throw error;
  }
}

/** The content with this digest, or `file/precondition`. */
async function readExactly(files: BoxFiles, path: RawPath, sha256: string): Promise<Uint8Array> {
  const content = await readSmallFile(files, path);
  if (createHash("sha256").update(content).digest("hex") === sha256) return content;
  throw new BoxError("file/precondition", "the file was changed meanwhile");
}

export async function readSmallFile(files: BoxFiles, path: RawPath): Promise<Uint8Array> {
  const pathBytes = new Uint8Array(bytesOf(path));
  const request = { pathBytes, noDigest: true, lengthMax: fileLimits.diffFileMaxBytes };
  const { data, totalBytes } = await files.read(create(FilesReadRequestSchema, request));
  if (data === undefined || Number(totalBytes) > data.length)
    throw new BoxError("file/too-large", "the file is too large to be compared");
  return data;
}

/** Another text as soon as a name, a kind, a mode or a content is another. */
export function hashOfContent(entries: readonly CheckpointEntry[]): string {
  const hash = createHash("sha256");
  for (const { path, type, mode, sha256 } of entries)
    hash.update(`${type} ${mode.toString(8)} ${sha256} ${path}\0`, "latin1");
  return hash.digest("hex");
}

export function toMessage({ ignore: _ignore, ...facts }: CheckpointFacts): CheckpointMessage {
  return {
    ...facts,
    createdAtMs: BigInt(facts.createdAtMs),
    sizeBytes: BigInt(facts.sizeBytes),
  };
}
