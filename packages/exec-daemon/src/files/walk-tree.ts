/**
 * All of a tree in pages, for checkpoints and hashes: by the bytes of the names, each folder right before what is in
 * it, links as they are. With digests where they are wanted; a file that is gone before it is read is left out.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, readdirSync, readlinkSync } from "node:fs";
import { FileType } from "@sand/protocol/exec";
import { factsAt, openFolderAt, realPathOf, versionOf, within } from "./descriptor.ts";
import { typeOf } from "./file-info.ts";
import { fileLimits } from "./file-limits.ts";
import { treatAsEmpty } from "./list.ts";
import { openRegular } from "./open-regular.ts";
import type { PathFence } from "./path-fence.ts";
import { type AskedPath, asRaw, joinRaw, type RawPath } from "./raw-path.ts";
import { hashHandle } from "./read.ts";
import { createTreeCount, type TreeCount } from "./tree.ts";
import { atPlace } from "./walk-path.ts";

export interface TreeRequest {
  readonly at: AskedPath;
  /** names that are left out, wherever they are */
  readonly ignore: readonly string[];
  readonly digests: boolean;
  readonly entriesMax: number;
}

export interface TreeEntry {
  /** relative, one character for each byte */
  readonly path: RawPath;
  readonly type: FileType;
  readonly mode: number;
  readonly sizeBytes: number;
  readonly version: string;
  /** of a file's content or a link's target; empty where none was wanted */
  readonly sha256: string;
  readonly target: RawPath | undefined;
}

export interface TreePage {
  readonly entries: readonly TreeEntry[];
}

export async function* walkTree(
  fence: PathFence,
  request: TreeRequest,
  signal: AbortSignal,
): AsyncGenerator<TreePage> {
  const root = await atPlace(
    fence,
    fence.locate(request.at),
    { access: "read", follow: true },
    async (place) => openFolderAt(place.folder, place.name),
  );
  const walk = { fence, request, signal, count: createTreeCount(request.entriesMax) };
  let entries: TreeEntry[] = [];
  try {
    fence.check(realPathOf(root), "read");
    for await (const entry of walkFolder(walk, root, asRaw(""), 0)) {
      entries.push(entry);
      if (entries.length < fileLimits.streamEntries) continue;
      yield { entries };
      entries = [];
    }
  } finally {
    closeSync(root);
  }
  if (entries.length > 0) yield { entries };
}

interface Walk {
  readonly fence: PathFence;
  readonly request: TreeRequest;
  readonly signal: AbortSignal;
  readonly count: TreeCount;
}

async function* walkFolder(
  walk: Walk,
  folder: number,
  path: RawPath,
  depth: number,
): AsyncGenerator<TreeEntry> {
  const names = readdirSync(within(folder, "."), { encoding: "latin1" }).sort();
  for (const name of names) {
    walk.signal.throwIfAborted();
    if (walk.request.ignore.includes(name)) continue;
    await walk.count.add(depth);
    const entry = await lookAt(walk, folder, name, joinRaw(path, name)).catch(whenGone);
    if (entry === undefined) continue;
    yield entry;
    if (entry.type === FileType.DIRECTORY) yield* enter(walk, folder, name, { path: entry.path, depth });
  }
}

async function* enter(
  walk: Walk,
  folder: number,
  name: string,
  { path, depth }: { readonly path: RawPath; readonly depth: number },
): AsyncGenerator<TreeEntry> {
  let inner: number | undefined;
  try {
    inner = openFolderAt(folder, name);
    walk.fence.check(realPathOf(inner), "read");
    yield* walkFolder(walk, inner, path, depth + 1);
  } catch (error) {
    treatAsEmpty(error);
  } finally {
    if (inner !== undefined) closeSync(inner);
  }
}

async function lookAt(walk: Walk, folder: number, name: string, path: RawPath): Promise<TreeEntry> {
  const facts = factsAt(folder, name);
  const type = typeOf(facts);
  const target = type === FileType.SYMLINK ? asRaw(readlinkSync(within(folder, name), "latin1")) : undefined;
  const isHashed = walk.request.digests && type === FileType.FILE;
  return {
    path,
    type,
    mode: Number(facts.mode) & 0o7777,
    sizeBytes: type === FileType.DIRECTORY ? 0 : Number(facts.size),
    version: versionOf(facts),
    sha256: isHashed ? await digestOf(walk, folder, name) : digestOfTarget(target),
    target,
  };
}

async function digestOf({ fence, signal }: Walk, folder: number, name: string): Promise<string> {
  const place = { folder, name: asRaw(name), path: asRaw(name) };
  const handle = await openRegular(fence, place, constants.O_RDONLY, "read");
  try {
    return await hashHandle(handle, signal);
  } finally {
    await handle.close();
  }
}

function digestOfTarget(target: RawPath | undefined): string {
  return target === undefined ? "" : createHash("sha256").update(target, "latin1").digest("hex");
}

function whenGone(error: unknown): undefined {
  treatAsEmpty(error);
}
