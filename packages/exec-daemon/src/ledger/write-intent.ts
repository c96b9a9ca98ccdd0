/**
 * Puts the intent of an execution on disk: its folder, and in it the one file that says what to run.
 *
 * The content, its name and the folder's name are made durable side by side, because nobody is told of the execution
 * before all three are. So a power cut may leave a torn intent, but never one that anything was started for. The native
 * shim does the same before it claims, without the threads and turns that it takes here.
 */
import { closeSync, fsync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { executionFiles } from "./execution-folder.ts";
import type { StartRecord } from "./records.ts";

const sync = promisify(fsync);

/** Resolves when it's written, and on the disk if that is ours to do. After a failure nothing is left of it, so that the
 * same id can be asked for again. */
export async function writeIntent(
  folder: string,
  start: StartRecord,
  syncedBy: "us" | "keeper",
): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  const open: number[] = [];
  try {
    const file = openSync(join(folder, executionFiles.start), "wx", 0o600);
    open.push(file);
    writeFileSync(file, JSON.stringify(start));
    if (syncedBy === "keeper") return;
    for (const path of [folder, dirname(folder)]) open.push(openSync(path, "r"));
    // All of them end before a failure is passed on: a descriptor that is being synced must not be closed.
    const failed = (await Promise.allSettled(open.map((descriptor) => sync(descriptor)))).find(
      (one) => one.status === "rejected",
    );
    if (failed !== undefined) throw failed.reason;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
