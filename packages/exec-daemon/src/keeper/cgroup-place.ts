/**
 * Where executions get control groups of their own: below the daemon's own group, in the version 2 hierarchy, which is
 * the only one where a process can be started inside a group for free. Each execution gets a name that no other has;
 * the shim makes the group and removes it. One that is still inhabited then, or whose shim was killed, is removed later.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface CgroupPlace {
  /** The path of a group that doesn't exist yet. */
  nextPath(): string;
  /** Removes the groups of ours that nothing is in any more; false when some are left. */
  sweep(): boolean;
}

const mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/** Undefined where there is no version 2 hierarchy; whether a group can be made is found out by trying. */
export function findCgroupPlace(dataRoot: string): CgroupPlace | undefined {
  const mount = mounts.find((path) => existsSync(join(path, "cgroup.controllers")));
  const own = readOwnGroup();
  if (mount === undefined || own === undefined) return undefined;
  const folder = join(mount, own);
  // Daemons of other data roots may stand in the same group.
  const prefix = `sand-${createHash("sha256").update(dataRoot).digest("hex").slice(0, 12)}-`;
  return {
    nextPath: () => join(folder, prefix + randomBytes(8).toString("hex")),
    sweep() {
      const ours = listNames(folder).filter((name) => name.startsWith(prefix));
      return ours.map((name) => removeGroup(join(folder, name))).every(Boolean);
    },
  };
}

/** Ends whatever is in the group; a group that is gone has nothing in it. */
export function killCgroup(path: string): void {
  try {
    writeFileSync(join(path, "cgroup.kill"), "1");
  } catch {
    // Gone, or the kernel is older than the file; then the group and the marker have to do.
  }
}

function readOwnGroup(): string | undefined {
  try {
    const path = /^0::(\/.*)$/mu.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
    // A path that leaves what this namespace shows can't be reached from here.
    return path?.includes("/..") === true ? undefined : path;
  } catch {
    return undefined;
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** False when something still runs in it. */
function removeGroup(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return !existsSync(path);
  }
}
