/**
 * Reads a database that another process writes to, as it was at one commit, without holding its writer up.
 *
 * A read transaction pins that commit: while it lasts, a checkpoint may move pages of the log into the file, but none
 * that is newer than what is read here, and the log isn't emptied. So the file's pages, overlaid with the committed
 * pages of the log, are the database at the last of these commits, and pages that didn't change keep their place in it:
 * that is what lets a snapshot keep only the pieces that are new. (`VACUUM INTO` and the backup interface write the
 * whole database anew, on the disk that the writer waits for.)
 *
 * 1. This must run in a process of its own: closing any descriptor of a database drops all locks that its process holds
 *    on it, the writer's among them.
 * 2. For the same reason the descriptors here are closed after the connection that pins.
 */
import { closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { BoxError, invariant } from "@sand/protocol";
import { type Connection, openForReading } from "../sqlite.ts";
import { snapshotLimits } from "./limits.ts";
import { scanWal, type WalPages } from "./wal-frames.ts";
import { readWalMark, type WalMark } from "./wal-index.ts";

export interface PinnedDatabase {
  readonly bytes: number;
  /** the bytes from `from` on, at most `length`; throws when the writer's log got too large meanwhile */
  read(from: number, length: number): Buffer;
}

/** Tells whether a database was changed, to the commit: the times of its files are too coarse for that. */
export function watchDatabase(path: string): { version(): number } & Disposable {
  const connection = openForReading(path);
  return {
    version: () => Number(connection.pragma("data_version", { simple: true })),
    [Symbol.dispose]: () => void connection.close(),
  };
}

/** A database before and after it is pinned. To be disposed of soon: its log grows while it is. */
export interface DatabasePin extends Disposable {
  /** from now on it is read as it is now; costs next to nothing */
  pin(): void;
  /** gives that up, so that it can be pinned again */
  release(): void;
  /** what is pinned */
  database(): PinnedDatabase;
}

export function openPin(path: string): DatabasePin {
  const connection = openForReading(path);
  const read = connection.prepare("SELECT count(*) FROM sqlite_schema");
  const descriptors: number[] = [];
  const open = (suffix: string): number | undefined => {
    const descriptor = openRead(`${path}${suffix}`);
    if (descriptor !== undefined) descriptors.push(descriptor);
    return descriptor;
  };
  let index: number | undefined;
  let mark: WalMark | undefined;
  return {
    pin() {
      connection.exec("BEGIN");
      read.get();
      // It may be a commit later than the transaction's, which holds as well: the log is kept from there on.
      index ??= open("-shm");
      mark = index === undefined ? undefined : readWalMark(index);
    },
    release: () => void connection.exec("ROLLBACK"),
    database() {
      const file = open("");
      invariant(file !== undefined, "a database that is open has a file");
      const wal = open("-wal");
      const pages = wal === undefined || mark === undefined ? undefined : scanWal(wal, mark);
      return overlay({ path, file, wal, pages, connection });
    },
    [Symbol.dispose]() {
      connection.close();
      for (const descriptor of descriptors) closeSync(descriptor);
    },
  };
}

/** `undefined` for a file that isn't there: a database in another journal mode has neither log nor index. */
function openRead(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

interface Opened {
  readonly path: string;
  readonly file: number;
  readonly wal: number | undefined;
  readonly pages: WalPages | undefined;
  readonly connection: Connection;
}

function overlay({ path, file, wal, pages: scanned, connection }: Opened): PinnedDatabase {
  let pages = scanned;
  const pageBytes = pages?.pageBytes ?? Number(connection.pragma("page_size", { simple: true }));
  const bytes = pageBytes * (pages?.pageCount ?? Number(connection.pragma("page_count", { simple: true })));

  return {
    bytes,
    read(from, length) {
      refuseLargeLog(path);
      const end = Math.min(from + length, bytes);
      const buffer = Buffer.alloc(end - from);
      // What the file doesn't have yet is in the log; anything else would be a hole, which the check at a restore finds.
      readFully(file, buffer, from);
      if (pages === undefined || wal === undefined) return buffer;
      layOver({ pages, wal, buffer, from });
      if (pages.isCurrent()) return buffer;
      // The log was begun anew, so the file has all of it, and keeps still as long as this transaction lasts.
      pages = undefined;
      readFully(file, buffer, from);
      return buffer;
    },
  };
}

interface Layer {
  readonly pages: WalPages;
  readonly wal: number;
  readonly buffer: Buffer;
  readonly from: number;
}

/** `from` is the beginning of a page, as all pieces begin with one. */
function layOver({ pages, wal, buffer, from }: Layer): void {
  const { pageBytes, places } = pages;
  for (let at = 0; at < buffer.length; at += pageBytes) {
    const place = places.get((from + at) / pageBytes + 1);
    if (place !== undefined) readFully(wal, buffer.subarray(at, at + pageBytes), place);
  }
}

function readFully(descriptor: number, into: Buffer, from: number): void {
  for (let done = 0; done < into.length; ) {
    const got = readSync(descriptor, into, done, into.length - done, from + done);
    if (got === 0) return;
    done += got;
  }
}

function refuseLargeLog(path: string): void {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size < snapshotLimits.pinnedLogMaxBytes) return;
  throw new BoxError("box-store/busy", "the database is written to faster than it can be read");
}
