/**
 * From a path to an open folder and a name in it, one component at a time and without ever following a link blindly.
 *
 * 1. Each step opens with `O_NOFOLLOW` from the folder before it; a link is read, and walked as commands would see it.
 * 2. What comes out is judged by where the folder's descriptor really lies, after the walk: closed to this access, or
 *    begun in the workspace and ended outside of it, is refused.
 * 3. Everything afterwards goes through that descriptor, so swapping a component later changes nothing.
 */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { BoxError } from "@sand/protocol";
import { adoptOwner } from "./adopt-owner.ts";
import { folderFlags, O_PATH, openFolderAt, realPathOf, within } from "./descriptor.ts";
import { errnoOf, toFileError } from "./file-errors.ts";
import { fileLimits } from "./file-limits.ts";
import type { Access, PathFence } from "./path-fence.ts";
import { asRaw, joinRaw, type RawPath } from "./raw-path.ts";

export interface Place {
  /** a descriptor of the folder, for `within` alone; closed when the work is done */
  readonly folder: number;
  /** what it is called there; "." is the root of all */
  readonly name: RawPath;
  /** the real path; at its end there may be a link, or nothing */
  readonly path: RawPath;
}

export interface WalkOptions {
  readonly access: Access;
  /** whether a link at the end is followed */
  readonly follow: boolean;
  /** folders that are missing on the way are made */
  readonly parents?: boolean;
}

/** Walks an absolute path of ours and works at the place where it ends. */
export async function atPlace<T>(
  fence: PathFence,
  asked: RawPath,
  options: WalkOptions,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const place = openPlace(fence, asked, options);
  try {
    return await work(place);
  } catch (error) {
    throw toFileError(error);
  } finally {
    closeSync(place.folder);
  }
}

function openPlace(fence: PathFence, asked: RawPath, options: WalkOptions): Place {
  let folder: number | undefined;
  try {
    const end = walk(fence, asked, options);
    folder = end.folder;
    const path = joinRaw(realPathOf(folder), end.name);
    fence.check(path, options.access);
    fence.checkReach(asked, path);
    return { folder, name: end.name, path };
  } catch (error) {
    if (folder !== undefined) closeSync(folder);
    throw toFileError(error);
  }
}

interface End {
  readonly folder: number;
  readonly name: RawPath;
}

function walk(fence: PathFence, asked: RawPath, options: WalkOptions): End {
  let folder = openSync("/", folderFlags);
  const go = (next: number): void => {
    closeSync(folder);
    folder = next;
  };
  try {
    let pending = partsOf(asked);
    let links = 0;
    // how many of the pending parts a link has brought in
    let brought = 0;
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      const isLast = pending.length === 0;
      const isBrought = brought > 0;
      brought = Math.max(0, brought - 1);
      if (name === "..") {
        go(openFolderAt(folder, ".."));
        continue;
      }
      if (isLast && !options.follow) return { folder, name: asRaw(name) };
      const found = lookAt(folder, name);
      if (found.kind === "link") {
        links += 1;
        if (links > fileLimits.linksMax)
          throw new BoxError("file/denied", "the path goes through too many links");
        const isAbsolute = found.target.startsWith("/");
        if (isAbsolute) go(openSync("/", folderFlags));
        const parts = partsOf(isAbsolute ? fence.locateRaw(found.target) : found.target);
        pending = [...parts, ...pending];
        brought += parts.length;
        continue;
      }
      if (isLast) {
        if (found.kind === "folder") closeSync(found.fd);
        return { folder, name: asRaw(name) };
      }
      if (found.kind === "folder") go(found.fd);
      else {
        refuseStep(found.kind, isBrought, options);
        go(makeStep(fence, folder, name));
      }
    }
    return namedAgain(folder);
  } catch (error) {
    closeSync(folder);
    throw error;
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

type Found =
  | { readonly kind: "folder"; readonly fd: number }
  | { readonly kind: "link"; readonly target: RawPath }
  | { readonly kind: "absent" | "other" };

const looksMax = 8;

function lookAt(folder: number, name: string): Found {
  // What is swapped under us between two looks is looked at again.
  for (let look = 0; look < looksMax; look += 1) {
    try {
      const fd = openSync(within(folder, name), O_PATH | constants.O_NOFOLLOW);
      const facts = factsOrClose(fd);
      if (facts.isDirectory()) return { kind: "folder", fd };
      closeSync(fd);
      if (!facts.isSymbolicLink()) return { kind: "other" };
      return { kind: "link", target: asRaw(readlinkSync(within(folder, name), "latin1")) };
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "ENOENT") return { kind: "absent" };
      if (errno !== "EINVAL") throw error;
    }
  }
  throw new BoxError("file/denied", "the path changes while it is looked at");
}

function factsOrClose(fd: number): BigIntStats {
  try {
    return fstatSync(fd, { bigint: true });
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Returns when a folder may be made here. */
function refuseStep(kind: "absent" | "other", isBrought: boolean, options: WalkOptions): void {
  if (kind === "other") throw new BoxError("file/not-a-directory", "a part of the path is no folder");
  if (isBrought) throw new BoxError("file/denied", "a link on the way leads to nothing");
  if (options.parents !== true) throw new BoxError("file/not-found", "there is nothing at this path");
}

function makeStep(fence: PathFence, folder: number, name: string): number {
  // Folders are made only where something may be written.
  fence.check(asRaw(join(realPathOf(folder), name)), "write");
  makeFolder(folder, name);
  return openFolderAt(folder, name);
}

/** As the folder that it is made in, it belongs to the same account. */
function makeFolder(folder: number, name: string): void {
  try {
    mkdirSync(within(folder, name));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    return;
  }
  adoptOwner(folder, name);
}

/** A path that ends in dots has a name all the same, but for the root. */
function namedAgain(folder: number): End {
  const name = asRaw(basename(realPathOf(folder)));
  if (name === "") return { folder, name: asRaw(".") };
  const parent = openFolderAt(folder, "..");
  closeSync(folder);
  return { folder: parent, name };
}
