/**
 * Moves a damaged database out of the way, whole: file, log and shared index together, or what is left of it could be
 * read as something else. Nothing is deleted, so that a person can look into it.
 */
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "@sand/node-kit";

const parts = ["", "-wal", "-shm"] as const;

/** Returns the folder that the file lies in now, or `undefined` when there was nothing to move. */
export function quarantine(path: string, atMs: number): string | undefined {
  const found = parts.filter((part) => existsSync(path + part));
  if (found.length === 0) return undefined;
  const folder = join(dirname(path), "quarantine", `${atMs}-${basename(path)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const part of found) renameSync(path + part, join(folder, basename(path) + part));
  syncFolder(folder);
  syncFolder(dirname(path));
  return folder;
}
