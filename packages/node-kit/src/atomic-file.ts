/**
 * Replaces a whole file so that a reader, and a start after a power cut, finds the old content or the new, never a mix.
 *
 * The order is what makes it hold: the data is on disk before the name points at it, and the folder is synced after
 * the rename, because a rename that isn't on disk can be undone by a power cut.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface AtomicWriteOptions {
  /** permission bits, set whatever the umask is; only the owner reads the file when absent */
  readonly mode?: number;
}

const privateMode = 0o600;
/** a file name may have 255 bytes; what is left is for our own marks */
const keptNameMaxChars = 60;

function temporaryPath(path: string): string {
  const kept = basename(path).slice(0, keptNameMaxChars);
  return join(dirname(path), `.${kept}.${randomBytes(6).toString("hex")}.tmp`);
}

/** True for a name that a write to the file `fileName` gives its temporary copy; one that is left is of a dead process. */
export function isTemporaryOf(fileName: string, name: string): boolean {
  const start = `.${fileName.slice(0, keptNameMaxChars)}.`;
  return name.startsWith(start) && /^[0-9a-f]{12}\.tmp$/u.test(name.slice(start.length));
}

export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const temporary = temporaryPath(path);
  try {
    const file = await open(temporary, "wx", privateMode);
    try {
      await file.writeFile(data);
      await file.chmod(options.mode ?? privateMode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function writeFileAtomicSync(
  path: string,
  data: string | Uint8Array,
  options: AtomicWriteOptions = {},
): void {
  const temporary = temporaryPath(path);
  try {
    const file = openSync(temporary, "wx", privateMode);
    try {
      writeFileSync(file, data);
      fchmodSync(file, options.mode ?? privateMode);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Makes the names in a folder durable: needed after a file in it was created, renamed or removed. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
