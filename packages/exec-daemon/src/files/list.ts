/**
 * List: what is in a folder, to a depth, by the bytes of the names, each folder right before what is in it. A page ends
 * at its bound and the next one begins behind its last entry, so nothing is told twice and what stays is never left out.
 */
import { closeSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilesListRequest, FilesListResponseSchema } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import { openFolderAt, realPathOf, within } from "./descriptor.ts";
import { toFileError } from "./file-errors.ts";
import { describeAt, type FileInfo } from "./file-info.ts";
import { fileLimits } from "./file-limits.ts";
import type { PathFence } from "./path-fence.ts";
import { asRaw, bytesOf, joinRaw, type RawPath } from "./raw-path.ts";
import { atPlace } from "./walk-path.ts";

export async function listFolder(
  fence: PathFence,
  request: FilesListRequest,
): Promise<MessageInitShape<typeof FilesListResponseSchema>> {
  const entriesMax = Math.min(
    request.entriesMax === 0 ? limits.listEntriesMax : request.entriesMax,
    limits.listEntriesMax,
  );
  const path = fence.locate(request);
  const walk: Walk = { fence, entries: [], entriesMax, last: undefined };
  const after = Buffer.from(request.pageToken).toString("latin1");
  const level = { shown: fence.show(path), below: asRaw(""), depth: depthOf(request.depth) };
  const isWhole = await atPlace(fence, path, { access: "read", follow: true }, async (place) => {
    const folder = openFolderAt(place.folder, place.name);
    try {
      fence.check(realPathOf(folder), "read");
      return await collect(walk, folder, { ...level, after: after === "" ? [] : after.split("/") });
    } finally {
      closeSync(folder);
    }
  });
  const nextPageToken = isWhole || walk.last === undefined ? new Uint8Array() : bytesOf(walk.last);
  return { entries: walk.entries, truncated: !isWhole, nextPageToken: new Uint8Array(nextPageToken) };
}

export function depthOf(asked: number): number {
  return Math.min(Math.max(1, asked), limits.listDepthMax);
}

interface Walk {
  readonly fence: PathFence;
  readonly entries: FileInfo[];
  readonly entriesMax: number;
  /** relative to the listed folder */
  last: RawPath | undefined;
}

interface Level {
  /** the folder as it is told */
  readonly shown: RawPath;
  /** the same, relative to the listed one */
  readonly below: RawPath;
  readonly depth: number;
  /** the names that lead from here to the last entry of the page before; empty: nothing was told from here */
  readonly after: readonly string[];
}

/** False when there was more than may be told. */
async function collect(walk: Walk, folder: number, level: Level): Promise<boolean> {
  const names = await readdir(within(folder, "."), { encoding: "latin1", withFileTypes: true });
  names.sort((a, b) => (a.name < b.name ? -1 : 1));
  const [from, ...rest] = level.after;
  let looked = 0;
  for (const entry of names) {
    if (from !== undefined && entry.name < from) continue;
    looked += 1;
    if (looked % fileLimits.turnEntries === 0) await nextTurn();
    const below = joinRaw(level.below, entry.name);
    const shown = joinRaw(level.shown, entry.name);
    const wasTold = entry.name === from;
    if (!wasTold) {
      const info = describeAt(folder, entry.name, shown);
      if (info === undefined) continue;
      if (walk.entries.length >= walk.entriesMax) return false;
      walk.entries.push(info);
      walk.last = below;
    }
    if (!entry.isDirectory() || level.depth <= 1) continue;
    const next = { shown, below, depth: level.depth - 1, after: wasTold ? rest : [] };
    if (!(await collectBelow(walk, folder, { ...next, name: entry.name }))) return false;
  }
  return true;
}

async function collectBelow(
  walk: Walk,
  folder: number,
  { name, ...level }: Level & { readonly name: string },
): Promise<boolean> {
  let inner: number | undefined;
  try {
    inner = openFolderAt(folder, name);
    walk.fence.check(realPathOf(inner), "read");
    return await collect(walk, inner, level);
  } catch (error) {
    return treatAsEmpty(error);
  } finally {
    if (inner !== undefined) closeSync(inner);
  }
}

/** A folder below that is closed to us, or was removed or replaced meanwhile, has nothing to show. */
export function treatAsEmpty(error: unknown): true {
  const failure = toFileError(error);
  if (["file/denied", "file/not-found", "file/not-a-directory", "file/not-a-file"].includes(failure.code))
    return true;
  throw failure;
}
