/**
 * Decides which real paths the file operations may touch. The question is always put about the path that the kernel
 * says an open descriptor has, never about a name: a command can turn a name into a link between a check and its use.
 *
 * Enclosed commands see another `/tmp` than this process; a path there is led to the folder that they see.
 */
import { constants, readlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { BoxError } from "@sand/protocol";
import { isBeneath } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { toFileError } from "./file-errors.ts";

export type Access = "read" | "write";

export interface PathFence {
  /** The absolute path that a name stands for, here. */
  locate(path: string): string;
  /** The name under which a command finds a path that we found. */
  show(path: string): string;
  /** Throws `file/denied` when the real path is closed to this access. */
  check(realPath: string, access: Access): void;
  /** Opens what is there and checks where it really lies. Never waits for the other end of a pipe. */
  open(path: string, flags: number, access: Access): Promise<FileHandle>;
  /** The real paths that are closed, for a search to leave out. */
  readonly closed: readonly string[];
}

/** nothing of use to a file tool, and every process's secrets */
const alwaysClosed = ["/proc", "/dev", "/sys"] as const;

export function createPathFence(policy: BoxPolicy): PathFence {
  const isEnclosed = policy.decision.kind === "enclose";
  const closed = policy.masked.map((mask) => mask.path);
  const openRoots = isEnclosed ? [policy.workspaceRoot, policy.temporaryRoot] : [policy.workspaceRoot];

  function isClosed(path: string): boolean {
    if (alwaysClosed.some((root) => isBeneath(path, root))) return true;
    const closest = [...closed, ...openRoots]
      .filter((root) => isBeneath(path, root))
      .sort((a, b) => b.length - a.length)[0];
    if (closest !== undefined) return closed.includes(closest);
    // The machine's own /tmp isn't the one that commands have.
    return isEnclosed && isBeneath(path, "/tmp");
  }

  function check(realPath: string, access: Access): void {
    const isWritable = !isEnclosed || openRoots.some((root) => isBeneath(realPath, root));
    if (isClosed(realPath)) throw new BoxError("file/denied", "this path is closed to agents");
    if (access === "write" && !isWritable)
      throw new BoxError("file/denied", "only the workspace and /tmp can be written");
  }

  return {
    closed,
    check,
    locate(path) {
      if (path.includes("\0")) throw new BoxError("exec/invalid", "a path holds no NUL");
      const absolute = resolve(policy.workspaceRoot, path);
      const isHidden =
        isEnclosed && isBeneath(absolute, "/tmp") && !openRoots.some((root) => isBeneath(absolute, root));
      return isHidden ? resolve(policy.temporaryRoot, `.${absolute.slice("/tmp".length)}`) : absolute;
    },
    show(path) {
      return isEnclosed && isBeneath(path, policy.temporaryRoot)
        ? `/tmp${path.slice(policy.temporaryRoot.length)}`
        : path;
    },
    async open(path, flags, access) {
      const handle = await openQuietly(path, flags);
      try {
        check(realPathOf(handle), access);
        return handle;
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
  };
}

/** Where an open file really lies. */
export function realPathOf(handle: FileHandle): string {
  return readlinkSync(`/proc/self/fd/${handle.fd}`);
}

/** The path by which the open folder itself is reached, whatever its name is turned into. */
export function pathWithin(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

async function openQuietly(path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, flags | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    throw toFileError(error);
  }
}
