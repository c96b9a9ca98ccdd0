/** List and Stat: what is in a folder, to a depth, and what one path is. Links are shown, not followed. */
import { constants } from "node:fs";
import { lstat, opendir, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import {
  type FileInfoSchema,
  type FilesListRequest,
  type FilesListResponseSchema,
  type FilesStatRequest,
  type FilesStatResponseSchema,
  FileType,
} from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { toFileError } from "./file-errors.ts";
import { type PathFence, pathWithin, realPathOf } from "./path-fence.ts";

type FileInfo = MessageInitShape<typeof FileInfoSchema>;

export async function listFolder(
  fence: PathFence,
  request: FilesListRequest,
): Promise<MessageInitShape<typeof FilesListResponseSchema>> {
  const entriesMax = Math.min(
    request.entriesMax === 0 ? limits.listEntriesMax : request.entriesMax,
    limits.listEntriesMax,
  );
  const depth = Math.min(Math.max(1, request.depth), limits.listDepthMax);
  const entries: FileInfo[] = [];
  try {
    const isWhole = await collect({ fence, path: fence.locate(request.path), depth, entries, entriesMax });
    entries.sort((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1));
    return { entries, truncated: !isWhole };
  } catch (error) {
    throw toFileError(error);
  }
}

interface Walk {
  readonly fence: PathFence;
  readonly path: string;
  readonly depth: number;
  readonly entries: FileInfo[];
  readonly entriesMax: number;
}

/** False when there was more than may be told. */
async function collect(walk: Walk): Promise<boolean> {
  const { fence, path, entries, entriesMax } = walk;
  const folder = await fence.open(path, constants.O_RDONLY | constants.O_DIRECTORY, "read");
  const below: string[] = [];
  try {
    for await (const entry of await opendir(pathWithin(folder, "."))) {
      if (entries.length >= entriesMax) return false;
      const info = await describe(fence, pathWithin(folder, entry.name), join(path, entry.name));
      if (info === undefined) continue;
      entries.push(info);
      if (entry.isDirectory()) below.push(join(path, entry.name));
    }
  } finally {
    await folder.close();
  }
  if (walk.depth <= 1) return true;
  for (const next of below) {
    const isWhole = await collect({ ...walk, path: next, depth: walk.depth - 1 }).catch(treatAsEmpty);
    if (!isWhole) return false;
  }
  return true;
}

/** A folder below that is closed to us, or was removed meanwhile, has nothing to show. */
function treatAsEmpty(error: unknown): boolean {
  if (error instanceof BoxError && (error.code === "file/denied" || error.code === "file/not-found"))
    return true;
  throw error;
}

export async function statPath(
  fence: PathFence,
  request: FilesStatRequest,
): Promise<MessageInitShape<typeof FilesStatResponseSchema>> {
  const path = fence.locate(request.path);
  const folder = await fence.open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY, "read");
  try {
    fence.check(join(realPathOf(folder), basename(path)), "read");
    const info = await describe(fence, path === "/" ? "/" : pathWithin(folder, basename(path)), path);
    if (info === undefined) throw new BoxError("file/not-found", "there is nothing at this path");
    return { file: info };
  } finally {
    await folder.close();
  }
}

async function describe(fence: PathFence, reachedBy: string, path: string): Promise<FileInfo | undefined> {
  try {
    const facts = await lstat(reachedBy);
    return {
      path: fence.show(path),
      type: typeOf(facts),
      sizeBytes: BigInt(facts.size),
      mode: facts.mode & 0o7777,
      modifiedAtMs: BigInt(Math.max(0, Math.trunc(facts.mtimeMs))),
      ...(facts.isSymbolicLink() ? { linkTarget: await readlink(reachedBy) } : {}),
    };
  } catch (error) {
    const failure = toFileError(error);
    // Removed between the listing and our look.
    if (failure.code === "file/not-found") return undefined;
    throw failure;
  }
}

function typeOf(facts: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): FileType {
  if (facts.isFile()) return FileType.FILE;
  if (facts.isDirectory()) return FileType.DIRECTORY;
  return facts.isSymbolicLink() ? FileType.SYMLINK : FileType.OTHER;
}
