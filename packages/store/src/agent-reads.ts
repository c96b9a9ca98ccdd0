/** What can be asked of one agent's store. Every query goes by an index and has a limit, or is bounded by one turn. */
import type { AgentReads, PromptRow, TurnRecord, TurnRecordKind, TurnRow } from "@sand/agent-core";
import type { JsonValue, TurnId } from "@sand/protocol";
import { endOfNumbers, pageSize, readEntries } from "./entry-reads.ts";
import type { EventLog } from "./event-log.ts";
import { type PayloadCodec, unpackPayload } from "./payload.ts";
import {
  type PromptSqlRow,
  promptColumns,
  promptFromRow,
  type TurnSqlRow,
  turnColumns,
  turnFromRow,
} from "./rows.ts";
import type { Connection } from "./sqlite.ts";

export function createAgentReads(connection: Connection, events: EventLog, codec: PayloadCodec): AgentReads {
  return {
    ...readEntries(connection),
    ...readPrompts(connection, codec),
    ...readTurns(connection, codec),
    lastSeq: () => events.lastSeq(),
  };
}

function readPrompts(
  connection: Connection,
  codec: PayloadCodec,
): Pick<AgentReads, "getValue" | "findPrompt" | "pendingPrompts"> {
  const value = connection.prepare<unknown[], string>("SELECT value FROM kv WHERE key = ?").pluck();
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
    findPrompt(nonce) {
      const row = promptByNonce.get(nonce);
      return row === undefined ? undefined : promptFromRow(row, codec);
    },
    pendingPrompts: (): readonly PromptRow[] => pending.all().map((row) => promptFromRow(row, codec)),
  };
}

function readTurns(
  connection: Connection,
  codec: PayloadCodec,
): Pick<AgentReads, "openTurn" | "settledTurns" | "records" | "recordsOfKind"> {
  const open = connection.prepare<unknown[], TurnSqlRow>(
    `SELECT ${turnColumns} FROM turns WHERE state = 'open'`,
  );
  const settled = connection.prepare<unknown[], TurnSqlRow>(
    `SELECT ${turnColumns} FROM turns WHERE state = 'settled' AND generation < ? ORDER BY generation DESC LIMIT ?`,
  );
  const recordBodies = connection
    .prepare<unknown[], string>("SELECT body FROM turn_records WHERE turn_id = ? ORDER BY ordinal")
    .pluck();
  const bodiesOfKind = connection
    .prepare<unknown[], string>(
      "SELECT body FROM turn_records WHERE turn_id = ? AND kind = ? ORDER BY ordinal",
    )
    .pluck();
  return {
    openTurn() {
      const row = open.get();
      return row === undefined ? undefined : turnFromRow(row);
    },
    settledTurns({ limit, beforeGeneration }): readonly TurnRow[] {
      return settled.all(beforeGeneration ?? endOfNumbers, pageSize(limit)).map(turnFromRow);
    },
    records: (turnId) => recordBodies.all(turnId).map((body) => codec.unpack<TurnRecord>(body)),
    recordsOfKind: <Kind extends TurnRecordKind>(turnId: TurnId, kind: Kind) =>
      bodiesOfKind
        .all(turnId, kind)
        .map((body) => codec.unpack<Extract<TurnRecord, { readonly kind: Kind }>>(body)),
  };
}
