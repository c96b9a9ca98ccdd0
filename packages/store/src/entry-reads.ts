/**
 * Pages of the transcript. Each walks an index and ends at its limit, so a page costs the same in a long history.
 *
 * An index on an expression is used only where the query repeats the expression; `INDEXED BY` makes a query that
 * doesn't fail at its preparation, where it would otherwise become a scan without a word.
 */
import type { AgentReads, EntryPage, PageBounds, StoredEntry } from "@sand/agent-core";
import type { EntryId, TranscriptEntry } from "@sand/protocol";
import { unpackPayload } from "./payload.ts";
import { checkSum, damagedRow, rowSum } from "./row-sums.ts";
import type { Connection } from "./sqlite.ts";

/** the most entries or turns of one page (contract gateway: 5,000) */
const pageMax = 5_000;
/** above every `seq`, generation and time */
export const endOfNumbers = Number.MAX_SAFE_INTEGER;

interface EntrySqlRow {
  readonly seq: number;
  readonly id: string;
  readonly entry: string;
  readonly sum: number | null;
}

/** where a page of a span begins: before `seq` at `at` */
interface Anchor {
  readonly seq: number;
  readonly at: number;
}

const at = "json_extract(entry, '$.timestampMs')";
const replyTo = "json_extract(entry, '$.replyToId')";
const inMainWindow =
  "json_extract(entry, '$.kind') <> 'tool-call' AND coalesce(json_extract(entry, '$.branched'), 0) = 0";

type EntryReads = Pick<
  AgentReads,
  "findEntry" | "entriesBefore" | "windowBefore" | "entriesInSpan" | "repliesTo" | "countReplies"
>;

export function readEntries(connection: Connection): EntryReads {
  const entryById = connection.prepare<unknown[], EntrySqlRow>(
    "SELECT seq, id, entry, sum FROM transcript_entries WHERE id = ?",
  );
  return {
    findEntry(id: EntryId) {
      const row = entryById.get(id);
      if (row === undefined) return undefined;
      // What the index of ids says is right only when the row says the same.
      if (row.id !== id) throw damagedRow(`entry ${id}`);
      return entryFromRow(row);
    },
    ...readPages(connection),
    entriesInSpan: readSpan(connection),
    ...readReplies(connection),
  };
}

function readPages(connection: Connection): Pick<AgentReads, "entriesBefore" | "windowBefore"> {
  const all = connection.prepare<unknown[], EntrySqlRow>(
    "SELECT seq, id, entry, sum FROM transcript_entries WHERE seq < ? ORDER BY seq DESC LIMIT ?",
  );
  const main = connection.prepare<unknown[], EntrySqlRow>(
    `SELECT seq, id, entry, sum FROM transcript_entries INDEXED BY transcript_main_window
     WHERE ${inMainWindow} AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );
  const page =
    (statement: typeof all) =>
    ({ limit, beforeSeq }: PageBounds): EntryPage =>
      pageOf(limit, (wanted) => statement.all(beforeSeq ?? endOfNumbers, wanted));
  return { entriesBefore: page(all), windowBefore: page(main) };
}

function readSpan(connection: Connection): AgentReads["entriesInSpan"] {
  const newestUpTo = connection.prepare<unknown[], Anchor>(
    `SELECT seq, ${at} AS at FROM transcript_entries WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
  );
  const span = connection.prepare<unknown[], EntrySqlRow>(
    `SELECT seq, id, entry, sum FROM transcript_entries INDEXED BY transcript_times
     WHERE ${at} BETWEEN ? AND ? AND NOT (${at} = ? AND seq >= ?) ORDER BY ${at} DESC, seq DESC LIMIT ?`,
  );

  /** The cursor names a place in the order of `seq`; the page goes by time, so the entry there says the time. */
  function anchorOf(beforeSeq: number | undefined): Anchor | undefined {
    if (beforeSeq === undefined) return { seq: endOfNumbers, at: endOfNumbers };
    const found = newestUpTo.get(beforeSeq);
    if (found === undefined) return undefined;
    return found.seq === beforeSeq ? found : { ...found, seq: found.seq + 1 };
  }

  return ({ limit, beforeSeq, sinceMs, untilMs }) => {
    const anchor = anchorOf(beforeSeq);
    if (anchor === undefined) return { entries: [], more: false };
    const newestMs = Math.min(untilMs ?? endOfNumbers, anchor.at);
    return pageOf(limit, (wanted) => span.all(sinceMs ?? 0, newestMs, anchor.at, anchor.seq, wanted));
  };
}

function readReplies(connection: Connection): Pick<AgentReads, "repliesTo" | "countReplies"> {
  const replies = connection.prepare<unknown[], EntrySqlRow>(
    `SELECT seq, id, entry, sum FROM transcript_entries INDEXED BY transcript_replies
     WHERE ${replyTo} = ? ORDER BY seq DESC LIMIT ?`,
  );
  const count = connection
    .prepare<unknown[], number>(
      `SELECT count(*) FROM transcript_entries INDEXED BY transcript_replies WHERE ${replyTo} = ?`,
    )
    .pluck();
  return {
    repliesTo: (rootId, limit) => replies.all(rootId, pageSize(limit)).reverse().map(entryFromRow),
    countReplies: (rootId) => count.get(rootId) ?? 0,
  };
}

/** `read` gives rows newest first. One more than asked for tells whether older ones exist, without counting them. */
function pageOf(limit: number, read: (wanted: number) => EntrySqlRow[]): EntryPage {
  const wanted = pageSize(limit);
  const rows = read(wanted + 1);
  return { entries: rows.slice(0, wanted).reverse().map(entryFromRow), more: rows.length > wanted };
}

function entryFromRow(row: EntrySqlRow): StoredEntry {
  checkSum(`entry ${row.seq}`, row.sum, rowSum([row.seq, row.id], row.entry));
  return { seq: row.seq, entry: unpackPayload<TranscriptEntry>(row.entry) };
}

export function pageSize(limit: number): number {
  return Math.min(Math.max(Math.trunc(limit), 0), pageMax);
}
