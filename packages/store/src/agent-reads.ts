/** What can be asked of one agent's store. Every query goes by an index and has a limit, or is bounded by one turn. */
import type { AgentReads, PromptRow, StoredEntry, TurnRecord, TurnRow } from "@sand/agent-core";
import type { EntryId, JsonValue, TranscriptEntry } from "@sand/protocol";
import type { EventLog } from "./event-log.ts";
import { unpackPayload } from "./payload.ts";
import {
  type PromptSqlRow,
  promptColumns,
  promptFromRow,
  type TurnSqlRow,
  turnColumns,
  turnFromRow,
} from "./rows.ts";
import type { Connection } from "./sqlite.ts";

/** the most entries or turns of one page (contract gateway: 5,000) */
const pageMax = 5_000;
/** above every `seq` and generation */
const endOfNumbers = Number.MAX_SAFE_INTEGER;

interface EntrySqlRow {
  readonly seq: number;
  readonly entry: string;
}

export function createAgentReads(connection: Connection, events: EventLog): AgentReads {
  return { ...readTranscript(connection), ...readTurns(connection), lastSeq: () => events.lastSeq() };
}

function readTranscript(
  connection: Connection,
): Pick<AgentReads, "getValue" | "findEntry" | "entriesBefore" | "findPrompt" | "pendingPrompts"> {
  const value = connection.prepare<unknown[], string>("SELECT value FROM kv WHERE key = ?").pluck();
  const entryById = connection.prepare<unknown[], EntrySqlRow>(
    "SELECT seq, entry FROM transcript_entries WHERE id = ?",
  );
  const entryPage = connection.prepare<unknown[], EntrySqlRow>(
    "SELECT seq, entry FROM transcript_entries WHERE seq < ? ORDER BY seq DESC LIMIT ?",
  );
  const promptByNonce = connection.prepare<unknown[], PromptSqlRow>(
    `SELECT ${promptColumns} FROM prompts WHERE nonce = ?`,
  );
  const pending = connection.prepare<unknown[], PromptSqlRow>(
    `SELECT ${promptColumns} FROM prompts WHERE turn_id IS NULL ORDER BY ordinal`,
  );
  return {
    getValue(key) {
      const text = value.get(key);
      return text === undefined ? undefined : unpackPayload<JsonValue>(text);
    },
    findEntry(id: EntryId) {
      const row = entryById.get(id);
      return row === undefined ? undefined : entryFromRow(row);
    },
    entriesBefore({ limit, beforeSeq }) {
      const wanted = pageSize(limit);
      // One more than asked for tells whether older ones exist, without counting them.
      const rows = entryPage.all(beforeSeq ?? endOfNumbers, wanted + 1);
      const entries = rows.slice(0, wanted).reverse().map(entryFromRow);
      return { entries, more: rows.length > wanted };
    },
    findPrompt(nonce) {
      const row = promptByNonce.get(nonce);
      return row === undefined ? undefined : promptFromRow(row);
    },
    pendingPrompts: (): readonly PromptRow[] => pending.all().map(promptFromRow),
  };
}

function readTurns(connection: Connection): Pick<AgentReads, "openTurn" | "settledTurns" | "records"> {
  const open = connection.prepare<unknown[], TurnSqlRow>(
    `SELECT ${turnColumns} FROM turns WHERE state = 'open'`,
  );
  const settled = connection.prepare<unknown[], TurnSqlRow>(
    `SELECT ${turnColumns} FROM turns WHERE state = 'settled' AND generation < ? ORDER BY generation DESC LIMIT ?`,
  );
  const recordBodies = connection
    .prepare<unknown[], string>("SELECT body FROM turn_records WHERE turn_id = ? ORDER BY ordinal")
    .pluck();
  return {
    openTurn() {
      const row = open.get();
      return row === undefined ? undefined : turnFromRow(row);
    },
    settledTurns({ limit, beforeGeneration }): readonly TurnRow[] {
      return settled.all(beforeGeneration ?? endOfNumbers, pageSize(limit)).map(turnFromRow);
    },
    records: (turnId) => recordBodies.all(turnId).map((body) => unpackPayload<TurnRecord>(body)),
  };
}

function entryFromRow(row: EntrySqlRow): StoredEntry {
  return { seq: row.seq, entry: unpackPayload<TranscriptEntry>(row.entry) };
}

function pageSize(limit: number): number {
  return Math.min(Math.max(Math.trunc(limit), 0), pageMax);
}
