/**
 * One agent's blob database, synchronously; only the thread that owns it works with it.
 *
 * 1. What `put` returns is on disk: `synchronous=FULL` is set and read back by the opening.
 * 2. A blob that is there already is looked at before it is believed: a damaged one is written anew.
 * 3. Positions rise in the order of writing, so the collector can tell what it has seen.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { failpoint, syncFolder } from "@sand/node-kit";
import { migrate } from "../migrate.ts";
import { type Connection, openDatabase, type StoreDatabase } from "../sqlite.ts";
import { blobIdOf, verifiedBlob } from "./blob-id.ts";
import { blobMigrations } from "./blob-schema.ts";

/** Payloads are large: of SQLite's own small pages one would be dozens, each with system calls of its own. */
export const blobPageBytes = 32 * 1_024;
/** the log is moved into the file from this many pages on: 8 MiB */
const checkpointPages = 256;
const settledMark = "settled_through";

export interface BlobDatabase {
  readonly database: StoreDatabase;
  /** one transaction for all of them */
  put(blobs: readonly Uint8Array[]): readonly string[];
  /** `store/damaged` when it isn't there, or isn't what was stored */
  get(id: string): Uint8Array;
  list(after: number, limit: number): readonly { readonly at: number; readonly id: string }[];
  /** removes blobs and notes how far the collector has come, in one transaction */
  drop(ids: readonly string[], settledThrough: number): number;
  settledThrough(): number;
}

/** Makes the file where it isn't there; its folder must be. */
export function openBlobDatabase(path: string): BlobDatabase {
  // A killed process can leave the file empty, before anything was in it. What an emptied one has lost shows at its reads.
  const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
  const database = openDatabase({ path, create: isNew, pageBytes: blobPageBytes });
  try {
    database.connection.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    migrate(database.connection, blobMigrations);
    // The file's own syncs don't make its name durable.
    if (isNew) syncFolder(dirname(path));
    return { database, ...writeBlobs(database), ...readBlobs(database.connection) };
  } catch (error) {
    database.close();
    throw error;
  }
}

function readBlobs(connection: Connection): Pick<BlobDatabase, "get" | "list" | "settledThrough"> {
  const data = connection.prepare<unknown[], Buffer>("SELECT data FROM blobs WHERE id = ?").pluck();
  const list = connection.prepare<unknown[], { at: number; id: string }>(
    "SELECT rowid AS at, id FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT ?",
  );
  const mark = connection.prepare<unknown[], number>("SELECT value FROM blob_marks WHERE name = ?").pluck();
  return {
    get: (id) => verifiedBlob(id, data.get(id)),
    list: (after, limit) => list.all(after, limit),
    settledThrough: () => mark.get(settledMark) ?? 0,
  };
}

function writeBlobs(database: StoreDatabase): Pick<BlobDatabase, "put" | "drop"> {
  const { connection } = database;
  const insert = connection.prepare("INSERT INTO blobs (id, data) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const stored = connection.prepare<unknown[], Buffer>("SELECT data FROM blobs WHERE id = ?").pluck();
  const repair = connection.prepare("UPDATE blobs SET data = ? WHERE id = ?");
  const remove = connection.prepare("DELETE FROM blobs WHERE id = ?");
  const newest = connection.prepare<unknown[], number>("SELECT coalesce(max(rowid), 0) FROM blobs").pluck();
  const setMark = connection.prepare("INSERT OR REPLACE INTO blob_marks (name, value) VALUES (?, ?)");

  function putOne(data: Uint8Array): string {
    const id = blobIdOf(data);
    if (insert.run(id, data).changes === 1) return id;
    const found = stored.get(id);
    if (found === undefined || blobIdOf(found) !== id) repair.run(data, id);
    return id;
  }

  return {
    put(blobs) {
      database.begin();
      const ids = blobs.map(putOne);
      failpoint("blob.put.before");
      database.commit();
      failpoint("blob.put.after");
      return ids;
    },
    drop(ids, settledThrough) {
      database.begin();
      let dropped = 0;
      for (const id of ids) dropped += remove.run(id).changes;
      // A position that becomes free at the end is given out again, and what gets it hasn't been looked at.
      setMark.run(settledMark, Math.min(settledThrough, newest.get() ?? 0));
      failpoint("blob.gc.before");
      database.commit();
      failpoint("blob.gc.after");
      return dropped;
    },
  };
}
