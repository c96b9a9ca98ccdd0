/**
 * Watches from outside that no two hosts have one data root's databases open at once: what the kernel says of their
 * open files. A host opens them behind the lock and closes them before it gives the lock up.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

export interface WriterWatch {
  /** ends the watch; how often it looked, and how often both had them open */
  stop(): { readonly looks: number; readonly both: number };
}

const lookEveryMs = 2;

export function watchWriters(dataRoot: string, pids: readonly number[]): WriterWatch {
  let looks = 0;
  let both = 0;
  const look = (): void => {
    looks += 1;
    if (pids.filter((pid) => hasOpen(pid, dataRoot)).length > 1) both += 1;
  };
  const timer = setInterval(look, lookEveryMs);
  return {
    stop() {
      clearInterval(timer);
      look();
      return { looks, both };
    },
  };
}

function hasOpen(pid: number, dataRoot: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return listOpen(folder).some((name) => {
    const path = readLink(join(folder, name));
    // The locks themselves are waited for, and so they are open in both.
    return path.startsWith(`${dataRoot}/`) && /\/(?:host|store|conversation-blobs)\.db(?:-wal)?$/u.test(path);
  });
}

function listOpen(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process has ended.
    return [];
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed in between.
    return "";
  }
}
