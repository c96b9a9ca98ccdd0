/**
 * Puts content in the place of a file so that nobody sees a half of it: a copy beside it is written, synced, given its
 * mode and owner, and renamed over the name; then the folder is synced.
 */
import { randomBytes } from "node:crypto";
import { constants, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { adoptOwner, type Owner } from "./adopt-owner.ts";
import { within } from "./descriptor.ts";
import type { Place } from "./walk-path.ts";

export const newFileMode = 0o644;
const privateMode = 0o600;
/** a name may have 255 bytes; what is left is for our own marks */
const keptNameMaxBytes = 60;

export interface Replacement {
  readonly mode: number;
  /** whose it was; absent: the folder's owner gets it */
  readonly owner: Owner | undefined;
  readonly fill: (handle: FileHandle) => Promise<void>;
}

/** A name that `isTemporaryOf` of node-kit knows. */
export function temporaryName(name: string): string {
  return `.${name.slice(0, keptNameMaxBytes)}.${randomBytes(6).toString("hex")}.tmp`;
}

export async function replaceFile(place: Place, replacement: Replacement): Promise<void> {
  const staged = temporaryName(place.name);
  const path = within(place.folder, staged);
  try {
    const handle = await open(path, "wx", privateMode);
    try {
      await replacement.fill(handle);
      await finishFile(handle, place, staged, replacement);
    } finally {
      await handle.close();
    }
    renameSync(path, within(place.folder, place.name));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  await syncFolderOf(place);
}

export async function finishFile(
  handle: FileHandle,
  place: Place,
  staged: string,
  { mode, owner }: Omit<Replacement, "fill">,
): Promise<void> {
  // The owner first: a change of it takes bits of the mode away.
  adoptOwner(place.folder, staged, owner);
  await handle.chmod(mode & 0o7777);
  await handle.sync();
}

export async function syncFolderOf(place: Place): Promise<void> {
  const folder = await open(within(place.folder, "."), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } catch {
    // Not every file system can sync a folder; the content itself is safe.
  } finally {
    await folder.close();
  }
}
