/** Whether a path that came from outside is a folder. */
import { statSync } from "node:fs";

/** Missing, out of reach, too long or a link in a circle: either way nothing can be started there. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
