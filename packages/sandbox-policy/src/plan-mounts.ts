/** The mounts beyond the root and `/tmp`, in the order in which the inner path wins over the outer one. */

import type { MaskedPath, ProtectedPath, SandboxPolicy } from "./enclosed-policy.ts";
import { compareByDepth, isBeneath } from "./path-order.ts";

interface Mount {
  readonly path: string;
  readonly args: readonly string[];
}

interface Surroundings {
  readonly temporaryPath: string;
  /** all that is shown where reads are listed */
  readonly systemRoots: readonly string[];
}

export function planExtraMounts(policy: SandboxPolicy, around: Surroundings): readonly string[] {
  const isReadable = policy.workspaceAccess === "read";
  const writable = new Set([...(isReadable ? [] : [policy.workspaceRoot]), ...policy.writableRoots]);
  writable.delete(around.temporaryPath);
  const readable = new Set([...(isReadable ? [policy.workspaceRoot] : []), ...policy.readOnlyRoots]);
  const shown = [...writable, ...readable, ...(policy.reads === "listed" ? around.systemRoots : [])];
  const isVisible = (path: string): boolean => {
    if (["/proc", "/dev"].some((fresh) => isBeneath(path, fresh))) return false;
    // What lies in the machine's own `/tmp` isn't shown at all, so a mask there would only leave an empty folder behind.
    const isHidden = policy.reads === "listed" || isBeneath(path, around.temporaryPath);
    return !isHidden || shown.some((root) => isBeneath(path, root));
  };
  const inside = (policy.protectedPaths ?? []).filter(({ path }) =>
    [...writable].some((root) => isBeneath(path, root)),
  );
  // Sorting keeps this order for mounts at the same path: a mask comes last and wins.
  const mounts: readonly Mount[] = [
    ...[...readable].map((path): Mount => ({ path, args: ["--ro-bind", path, path] })),
    ...[...writable].map((path): Mount => ({ path, args: ["--bind", path, path] })),
    ...pinnedFolders(inside, writable).map((path): Mount => ({ path, args: ["--bind", path, path] })),
    ...inside.map((entry): Mount => ({ path: entry.path, args: protectionArgs(entry) })),
    ...policy.masked
      .filter(({ path }) => isVisible(path))
      .map((mask): Mount => ({ path: mask.path, args: maskArgs(mask) })),
  ];
  return [...mounts].sort((a, b) => compareByDepth(a.path, b.path)).flatMap((mount) => mount.args);
}

/** The folders between a protected path and the closest writable root above it, each once. */
function pinnedFolders(inside: readonly ProtectedPath[], writable: ReadonlySet<string>): readonly string[] {
  const closed = new Set(inside.map(({ path }) => path));
  const pinned = new Set<string>();
  for (const { path } of inside) {
    let above = path.slice(0, path.lastIndexOf("/"));
    while (above !== "" && !writable.has(above)) {
      if (!closed.has(above)) pinned.add(above);
      above = above.slice(0, above.lastIndexOf("/"));
    }
  }
  return [...pinned];
}

function protectionArgs({ path, how }: ProtectedPath): readonly string[] {
  switch (how) {
    case "kept":
      return ["--bind", path, path];
    // Cheaper than a bind for reading, of which there are many in each run. What is forced into it stays in memory.
    case "absent-folder":
      return ["--perms", "0555", "--tmpfs", path];
    case "read-only":
    // The empty mount point itself: the empty device couldn't be read there, and git gives up over such a file.
    case "absent-file":
      return ["--ro-bind", path, path];
  }
}

function maskArgs(mask: MaskedPath): readonly string[] {
  return mask.kind === "folder" ? ["--tmpfs", mask.path] : ["--ro-bind", "/dev/null", mask.path];
}
