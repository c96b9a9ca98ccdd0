/** Opens the host's log for a new run. Older runs are kept beside it, a few of them, the newest as `.1`. */
import { closeSync, fchmodSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

const keptRuns = 5;
const tailMaxBytes = 8_192;

/** Returns a descriptor for appending; the caller closes it. */
export function openFreshLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (sizeOf(path) > 0) {
    rmSync(`${path}.${keptRuns}`, { force: true });
    for (let run = keptRuns - 1; run >= 1; run -= 1) renameIfThere(`${path}.${run}`, `${path}.${run + 1}`);
    renameIfThere(path, `${path}.1`);
  }
  const log = openSync(path, "a", 0o600);
  fchmodSync(log, 0o600);
  return log;
}

/** The last lines of a log, for telling why a start failed. */
export function readLogTail(path: string, lines: number): readonly string[] {
  const size = sizeOf(path);
  if (size <= 0) return [];
  const length = Math.min(size, tailMaxBytes);
  const bytes = Buffer.alloc(length);
  const log = openSync(path, "r");
  try {
    readSync(log, bytes, 0, length, size - length);
  } finally {
    closeSync(log);
  }
  return bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .slice(-lines);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function renameIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}
