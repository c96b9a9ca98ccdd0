/**
 * Decides which real paths the file operations may touch. The question is always put about the path that the kernel
 * says an open descriptor has, never about a name: a command can turn a name into a link between a check and its use.
 *
 * Enclosed commands see another `/tmp` than this process; a path there is led to the folder that they see.
 */
import { resolve } from "node:path";
import { BoxError } from "@sand/protocol";
import { isBeneath } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import { encloserOf } from "../enclosure/encloser.ts";
import { type AskedPath, asRaw, type RawPath, rawOfAsked, rawOfText } from "./raw-path.ts";

export type Access = "read" | "write";

export interface PathFence {
  /** The absolute path that a request means, here. */
  locate(asked: AskedPath): RawPath;
  /** The same for what a link holds. */
  locateRaw(path: RawPath): RawPath;
  /** The name under which a command finds a path that we found. */
  show(path: RawPath): RawPath;
  /** Throws `file/denied` when the real path is closed to this access. */
  check(realPath: RawPath, access: Access): void;
  /** Throws `file/denied` when a path that begins in one of the agents' folders has left them by a link. */
  checkReach(asked: RawPath, realPath: RawPath): void;
  /** Throws `file/denied` when taking the path away would take away a root or what is closed. */
  checkRemovable(realPath: RawPath): void;
  /** The real paths that are closed, for a search to leave out. */
  readonly closed: readonly RawPath[];
}

/** nothing of use to a file tool, and every process's secrets */
const alwaysClosed = ["/proc", "/dev", "/sys"] as const;

export function createPathFence(policy: BoxPolicy): PathFence {
  const isEnclosed = policy.decision.kind === "enclose";
  const closed = policy.masked.map((mask) => rawOfText(mask.path));
  const [workspace, temporary] = [rawOfText(policy.workspaceRoot), rawOfText(policy.temporaryRoot)];
  const { rules } = policy.executors.files;
  const openRoots = isEnclosed
    ? [workspace, temporary, ...rules.writablePaths.map((path) => rawOfText(path))]
    : [workspace];
  const kept = rules.keptPaths.map((path) => rawOfText(path));
  const unwritable = (): readonly RawPath[] =>
    encloserOf(policy)
      .closedTo("files")
      .map((path) => rawOfText(path));
  const isOpen = (path: RawPath): boolean => openRoots.some((root) => isBeneath(path, root));

  function isClosed(path: RawPath): boolean {
    if (alwaysClosed.some((root) => isBeneath(path, root))) return true;
    const closest = [...closed, ...openRoots]
      .filter((root) => isBeneath(path, root))
      .sort((a, b) => b.length - a.length)[0];
    if (closest !== undefined) return closed.includes(closest);
    // The machine's own /tmp isn't the one that commands have.
    return isEnclosed && isBeneath(path, "/tmp");
  }

  function locateRaw(path: RawPath): RawPath {
    const absolute = asRaw(resolve(workspace, path));
    const isHidden = isEnclosed && isBeneath(absolute, "/tmp") && !isOpen(absolute);
    return isHidden ? asRaw(resolve(temporary, `.${absolute.slice("/tmp".length)}`)) : absolute;
  }

  return {
    closed,
    locateRaw,
    locate: (asked) => locateRaw(rawOfAsked(asked)),
    show(path) {
      return isEnclosed && isBeneath(path, temporary) ? asRaw(`/tmp${path.slice(temporary.length)}`) : path;
    },
    check(realPath, access) {
      if (isClosed(realPath)) throw new BoxError("file/denied", "this path is closed to agents");
      if (access === "write" && isEnclosed && !isOpen(realPath))
        throw new BoxError("file/denied", "only the workspace and /tmp can be written");
      if (access === "write" && rules.workspace === "read" && isBeneath(realPath, workspace))
        throw new BoxError("file/denied", "the policy leaves the workspace for reading only");
      if (access === "write" && unwritable().some((path) => isBeneath(realPath, path)))
        throw new BoxError(
          "file/denied",
          "this path is protected: git, shells or agents obey what is written there",
        );
    },
    checkReach(asked, realPath) {
      if (!isOpen(asked) || isOpen(realPath)) return;
      throw new BoxError("file/denied", "a link on the way leads out of the workspace");
    },
    checkRemovable(realPath) {
      if (realPath === "/" || openRoots.includes(realPath))
        throw new BoxError("file/denied", "a root can't be taken away");
      if ([...closed, ...openRoots, ...alwaysClosed].some((path) => isBeneath(path, realPath)))
        throw new BoxError("file/denied", "a part of this folder is closed to agents");
      if ([...kept, ...unwritable()].some((path) => isBeneath(path, realPath)))
        throw new BoxError("file/denied", "a part of this is protected from being taken away");
    },
  };
}
