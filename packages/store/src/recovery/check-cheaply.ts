/**
 * Looks for damage in what costs the same for any size: the file's head and length, its log, the schema, and some rows.
 * The rest shows when it is read: by SQLite's own rules, and by the checksum of each row.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import { checkSum, rowSum } from "../row-sums.ts";
import type { Connection } from "../sqlite.ts";
import { hasSignature } from "./page-image.ts";
import { isPageSize, readWalImage } from "./wal-image.ts";

/** entries that are looked at, spread over the transcript */
const samples = 8;
const headBytes = 100;

/** To be asked before the file is opened: SQLite forgets what lies behind damage in a log, and then empties the log. */
export function checkFiles(path: string): void {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const image =
    logBytes === 0
      ? undefined
      : readWalImage(`${path}-wal`, (page, bytes) => readAt(path, (page - 1) * bytes, bytes));
  if ((image?.damagedFrames ?? 0) > 0) throw damaged("its log has lost commits that were on disk");
  // A rollback journal is there only while a new file is made; SQLite brings what it was cut off in back to its beginning.
  const isBeingMade = (statSync(`${path}-journal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (image === undefined && !isBeingMade && isCutOff(path)) throw damaged("the file is shorter than it was");
}

function isCutOff(path: string): boolean {
  const head = readAt(path, 0, headBytes);
  if (head === undefined || !hasSignature(head)) return false;
  const pageBytes = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16);
  const isCurrent = head.readUInt32BE(24) === head.readUInt32BE(92);
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return isPageSize(pageBytes) && isCurrent && head.readUInt32BE(28) * pageBytes > bytes;
}

function readAt(path: string, at: number, bytes: number): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    // What isn't there is told by the opening.
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(bytes);
    return readSync(fd, buffer, 0, bytes, at) === bytes ? buffer : undefined;
  } finally {
    closeSync(fd);
  }
}

interface SampledRow {
  readonly seq: number;
  readonly id: string;
  readonly entry: string;
  readonly sum: number | null;
}

/** To be asked of the opened file, when its schema is the program's. */
export function checkSample(connection: Connection): void {
  const bounds = connection
    .prepare<unknown[], { readonly first: number | null; readonly last: number | null }>(
      `SELECT (SELECT min(seq) FROM transcript_entries) AS first, (SELECT max(seq) FROM transcript_entries) AS last`,
    )
    .get();
  if (bounds === undefined || bounds.first === null || bounds.last === null) return;
  const from = connection.prepare<unknown[], SampledRow>(
    "SELECT seq, id, entry, sum FROM transcript_entries WHERE seq >= ? ORDER BY seq LIMIT 1",
  );
  for (let sample = 0; sample < samples; sample += 1) {
    const at = bounds.first + Math.floor(((bounds.last - bounds.first) * sample) / (samples - 1));
    const row = from.get(at);
    if (row === undefined) throw damaged("entries are missing");
    checkSum(`entry ${row.seq}`, row.sum, rowSum([row.seq, row.id], row.entry));
  }
}

function damaged(what: string): BoxError {
  return new BoxError("store/damaged", `the store is damaged: ${what}`, {
    hint: "restore the file from a copy, or move it away",
  });
}
