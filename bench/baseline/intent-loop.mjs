/**
 * What a command that must not be lost costs before it may start: a folder with one file in it, and the file, its name
 * and the folder's name on the disk. Prints the milliseconds of each.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

const [root, times] = process.argv.slice(2);
const took = [];
for (let at = 0; at < Number(times); at += 1) {
  const startedMs = performance.now();
  const folder = join(root, `intent-${at}`);
  mkdirSync(folder);
  const file = openSync(join(folder, "start.json"), "wx", 0o600);
  writeSync(file, "x".repeat(600));
  const open = [file, openSync(folder, "r"), openSync(root, "r")];
  for (const descriptor of open) fsyncSync(descriptor);
  for (const descriptor of open) closeSync(descriptor);
  took.push(performance.now() - startedMs);
}
process.stdout.write(`${JSON.stringify(took)}\n`);
