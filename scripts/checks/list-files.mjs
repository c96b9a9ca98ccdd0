/** Lists the files of the repository that people write: no dependencies, no build output, nothing generated. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

const skippedFolders = new Set([
  "node_modules",
  "dist",
  ".git",
  ".toolchain",
  ".turbo",
  ".tmp",
  "gen",
  "generated",
]);

/** @param {string} root @returns {string[]} paths relative to the root, with forward slashes, sorted */
export function listFiles(root, folder = "") {
  const found = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!skippedFolders.has(entry.name)) found.push(...listFiles(root, path));
    } else if (entry.isFile()) {
      found.push(path);
    }
  }
  return found.sort();
}
