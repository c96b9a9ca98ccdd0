/** Plain facts about absolute, normalised paths. No file system is asked. */

/** True when `path` is `root` or lies below it. */
export function isBeneath(path: string, root: string): boolean {
  if (root === "/" || path === root) return true;
  return path.startsWith(`${root}/`);
}

/** Parents before children, then by name: later mounts cover earlier ones, so the more specific path has to win. */
export function compareByDepth(a: string, b: string): number {
  return depthOf(a) - depthOf(b) || (a < b ? -1 : Number(a > b));
}

function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length - 1;
}
