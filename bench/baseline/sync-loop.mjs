/** Appends a page to a file and calls fdatasync, one after the other: what a durable write costs on this disk. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const [folder, seconds] = process.argv.slice(2);
const path = join(folder, `sync-loop-${process.pid}`);
const file = openSync(path, "w", 0o600);
const page = Buffer.alloc(4096, 1);
const tookMs = [];
const endMs = performance.now() + Number(seconds) * 1000;
while (performance.now() < endMs) {
  const startedMs = performance.now();
  writeSync(file, page);
  fdatasyncSync(file);
  tookMs.push(performance.now() - startedMs);
}
closeSync(file);
rmSync(path);
tookMs.sort((a, b) => a - b);
const at = (share) => tookMs[Math.min(tookMs.length - 1, Math.floor(share * tookMs.length))];
process.stdout.write(`${JSON.stringify({ count: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99) })}\n`);
