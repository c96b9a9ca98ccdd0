/**
 * Opens `<data root>/search-index.db`, or makes it.
 *
 * A file that is damaged is set aside whole, one of another version is removed; either way an empty one takes its place
 * and is filled from the stores. What can't be opened for another reason (no space, no rights) is refused, and tried
 * again later: nothing depends on it but the search.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { quarantine } from "../quarantine.ts";
import { isDamage, openDatabase, type StoreDatabase } from "../sqlite.ts";
import { isBoxErrorOf } from "./is-box-error.ts";
import { searchIndexName, searchSchema, searchSchemaVersion } from "./search-schema.ts";

export interface OpenedSearchIndex {
  readonly database: StoreDatabase;
  /** where a damaged one lies now */
  readonly setAside: string | undefined;
  /** it has just been made, so nothing is in it */
  readonly isNew: boolean;
  /** false when the file was removed or replaced under us */
  isInPlace(): boolean;
}

export function openSearchIndex(root: string, nowMs: number): OpenedSearchIndex {
  const path = join(root, searchIndexName);
  let setAside: string | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
      const database = openKnown(path);
      if (database !== undefined) return opened(path, database, { setAside, isNew: false });
      removeIndex(root);
    }
  } catch (error) {
    if (!isDamage(error) && !isBoxErrorOf(error, "store/damaged")) throw error;
    setAside = setAsideIndex(root, nowMs);
  }
  // A log without its file belongs to nothing any more.
  removeIndex(root);
  return opened(path, makeIndex(path), { setAside, isNew: true });
}

/** Moves a damaged index away, whole. The caller has closed it. */
export function setAsideIndex(root: string, nowMs: number): string | undefined {
  return quarantine(join(root, searchIndexName), nowMs);
}

/** Removes the index, to be made again. The caller has closed it. */
export function removeIndex(root: string): void {
  for (const part of ["", "-wal", "-shm"]) rmSync(join(root, searchIndexName + part), { force: true });
}

function openKnown(path: string): StoreDatabase | undefined {
  const database = openDatabase({ path, create: false });
  try {
    const version = Number(database.connection.pragma("user_version", { simple: true }));
    if (version === searchSchemaVersion) {
      // A damaged schema or first page shows here, and not in the middle of a search.
      database.connection.prepare("SELECT count(*) FROM positions, meta").get();
      return database;
    }
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

function makeIndex(path: string): StoreDatabase {
  const database = openDatabase({ path, create: true });
  try {
    database.connection.transaction(() => database.connection.exec(searchSchema)).immediate();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function opened(
  path: string,
  database: StoreDatabase,
  { setAside, isNew }: Pick<OpenedSearchIndex, "setAside" | "isNew">,
): OpenedSearchIndex {
  const inode = statSync(path).ino;
  return {
    database,
    setAside,
    isNew,
    isInPlace: () => statSync(path, { throwIfNoEntry: false })?.ino === inode,
  };
}
