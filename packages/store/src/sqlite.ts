/**
 * The only door to the SQLite library.
 *
 * Every connection is durable by construction: a WAL database that is opened again falls back to `synchronous=NORMAL`
 * in the build we use, which loses acknowledged rows at a power cut. So FULL is set and read back at each open, and a
 * connection that doesn't have it is never handed out.
 */
import { closeSync, constants, openSync, statSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { isDamagedRow } from "./row-sums.ts";
import { isWalResetSafe } from "./wal-reset-safe.ts";

export type Connection = SqliteDatabase.Database;

/** how long a statement waits for another process that reads the file, in `ms`; the event loop stands still meanwhile */
const busyMaxMs = 1_000;
/** what is left of a write-ahead log after a checkpoint, in bytes */
const journalMaxBytes = 4 * 1_048_576;
/** `synchronous=FULL` as SQLite reports it */
const fullSync = 2;

/** One file and the steps of a grouped transaction on it. An object of functions, so that a test can fail one of them. */
export interface StoreDatabase {
  readonly connection: Connection;
  begin(): void;
  commit(): void;
  /** ends the open transaction if there is one: SQLite itself ends it after some errors */
  rollback(): void;
  savepoint(): void;
  release(): void;
  rollbackToSavepoint(): void;
  close(): void;
}

export interface OpenDatabaseOptions {
  readonly path: string;
  /** false refuses a file that isn't there or is empty, where a fresh one would hide a loss */
  readonly create: boolean;
  /** the size of a new file's pages; SQLite's own when absent */
  readonly pageBytes?: number;
}

export function openDatabase(options: OpenDatabaseOptions): StoreDatabase {
  if (options.create) createPrivately(options.path);
  else refuseEmpty(options.path);
  const connection = new SqliteDatabase(options.path, { fileMustExist: true, timeout: busyMaxMs });
  try {
    assertLibrary(connection);
    if (options.pageBytes !== undefined) connection.pragma(`page_size = ${options.pageBytes}`);
    makeDurable(connection);
    return wrap(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** A plain connection without journal or schema, for a file that is only locked. Doesn't wait for a lock. */
export function openForLocking(path: string): Connection {
  createPrivately(path);
  return new SqliteDatabase(path, { timeout: 0 });
}

/** A connection that can't write, for another process's database. The last one to close leaves the log as it is. */
export function openForReading(path: string): Connection {
  const connection = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: busyMaxMs });
  try {
    assertLibrary(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A connection that only reads a database which another thread of this process may be writing. Whoever closes last
 * leaves no log and no shared index behind, as a read-only one would.
 */
export function openBeside(path: string): Connection {
  const connection = new SqliteDatabase(path, { fileMustExist: true, timeout: busyMaxMs });
  try {
    assertLibrary(connection);
    connection.pragma("synchronous = FULL");
    connection.pragma("query_only = ON");
    connection.pragma("cell_size_check = ON");
    connection.pragma("trusted_schema = OFF");
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Moves the whole log into the file and empties it, unless another reader or writer is in the way; never waits. */
export function emptyLog(connection: Connection): void {
  connection.pragma("busy_timeout = 0");
  try {
    connection.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    connection.pragma(`busy_timeout = ${busyMaxMs}`);
  }
}

/** The kinds of failure after which a connection isn't to be believed any more: the disk, the file or its format. */
export function isStorageFault(error: unknown): boolean {
  if (!(error instanceof SqliteDatabase.SqliteError)) return isDamagedRow(error);
  return faultCodes.some((code) => error.code === code || error.code.startsWith(`${code}_`));
}

/** The file itself is wrong, so opening it again won't help. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof SqliteDatabase.SqliteError)) return isDamagedRow(error);
  // The version says that the schema is ours, so what it lacks was lost from it.
  if (error.code === "SQLITE_ERROR") return /^no such |^table .+ has no column/u.test(error.message);
  return /^SQLITE_(CORRUPT|NOTADB)/u.test(error.code);
}

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code === "SQLITE_CONSTRAINT_UNIQUE";
}

export function isLockedByOther(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && /^SQLITE_BUSY/u.test(error.code);
}

const faultCodes = [
  "SQLITE_IOERR",
  "SQLITE_FULL",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_CANTOPEN",
  "SQLITE_READONLY",
  "SQLITE_PROTOCOL",
  "SQLITE_NOMEM",
  "SQLITE_BUSY",
  "SQLITE_LOCKED",
];

/** SQLite would create the file readable for others; its log and index files take the same bits. */
function createPrivately(path: string): void {
  closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600));
}

/** SQLite takes an empty file for a new database. Ours is never empty once it was opened. */
function refuseEmpty(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size !== 0) return;
  throw new BoxError("store/damaged", "the store's file is empty", {
    hint: "restore the file from a copy, or move it away",
  });
}

function assertLibrary(connection: Connection): void {
  const version = String(connection.prepare("SELECT sqlite_version()").pluck().get());
  if (isWalResetSafe(version)) return;
  throw new BoxError("store/unavailable", `SQLite ${version} can lose committed pages of a write-ahead log`, {
    hint: "use better-sqlite3 with SQLite 3.51.3 or newer",
  });
}

function makeDurable(connection: Connection): void {
  const mode = connection.pragma("journal_mode = WAL", { simple: true });
  connection.pragma("synchronous = FULL");
  const sync = connection.pragma("synchronous", { simple: true });
  if (mode !== "wal" || sync !== fullSync) {
    throw new BoxError(
      "store/unavailable",
      `the database is not durable: journal ${mode}, synchronous ${sync}`,
    );
  }
  connection.pragma("foreign_keys = ON");
  connection.pragma(`journal_size_limit = ${journalMaxBytes}`);
  connection.pragma("cell_size_check = ON");
  connection.pragma("trusted_schema = OFF");
  connection.pragma("temp_store = MEMORY");
}

function wrap(connection: Connection): StoreDatabase {
  const begin = connection.prepare("BEGIN IMMEDIATE");
  const commit = connection.prepare("COMMIT");
  const rollback = connection.prepare("ROLLBACK");
  const savepoint = connection.prepare("SAVEPOINT change");
  const release = connection.prepare("RELEASE change");
  const rollbackTo = connection.prepare("ROLLBACK TO change");
  return {
    connection,
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback() {
      if (connection.open && connection.inTransaction) rollback.run();
    },
    savepoint: () => void savepoint.run(),
    release: () => void release.run(),
    rollbackToSavepoint() {
      rollbackTo.run();
      release.run();
    },
    close: () => void connection.close(),
  };
}
