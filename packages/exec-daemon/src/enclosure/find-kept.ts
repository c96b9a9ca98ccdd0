/**
 * What a policy wants kept: the path itself and all that is in it now. Each is a mount of its own, which can be written
 * and neither removed nor renamed; that is the only way to forbid a removal that the kernel has by mounts.
 *
 * Mounts are few. A folder that holds more than the limit is for reading only: better no writing there than a removal.
 */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ProtectedPath } from "@sand/sandbox-policy";

const entriesMax = 128;
const rule = "keptPaths";

export function findKept(paths: readonly string[]): readonly ProtectedPath[] {
  return paths.flatMap((path): readonly ProtectedPath[] => {
    const inside = list(path, []);
    if (inside === undefined) return [{ path, how: "read-only", rule }];
    return inside.map((one) => ({ path: one, how: "kept", rule }));
  });
}

/** Undefined when there are too many. What can't be seen isn't there; a link can't be a mount. */
function list(path: string, found: string[]): readonly string[] | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return found;
  found.push(path);
  if (found.length > entriesMax) return undefined;
  if (!stat.isDirectory()) return found;
  for (const name of readNames(path)) {
    if (list(join(path, name), found) === undefined) return undefined;
  }
  return found;
}

function readNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
