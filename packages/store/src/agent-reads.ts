/** What can be asked of one agent's store. Every query goes by an index and has a limit, or is bounded by one turn. */
import type { AgentReads, PromptRow, TurnRecord, TurnRecordKind, TurnRow } from "@sand/agent-core";
import type { JsonValue, TurnId } from "@sand/protocol";
import { endOfNumbers, pageSize, readEntries } from "./entry-reads.ts";
import type { EventLog } from "./event-log.ts";
import { type PayloadCodec, unpackPayload } from "./payload.ts";
import { checkSum, damagedRow, rowSum } from "./row-sums.ts";
import {
  type PromptSqlRow,
  promptColumns,
  promptFromRow,
  recordSum,
  type TurnSqlRow,
  turnColumns,
  turnFromRow,
} from "./rows.ts";
import type { Connection } from "./sqlite.ts";

interface ValueSqlRow {
  readonly key: string;
  readonly value: string;
  readonly sum: number | null;
}

interface RecordSqlRow {
  readonly turn_id: string;
  readonly ordinal: number;
  readonly body: string;
  readonly sum: number | null;
}

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
  const value = connection.prepare<unknown[], ValueSqlRow>("SELECT key, value, sum FROM kv WHERE key = ?");
  const promptByNonce = connection.prepare<unknown[], PromptSqlRow>(
    `SELECT ${promptColumns} FROM prompts WHERE nonce = ?`,
  );
  const pending = connection.prepare<unknown[], PromptSqlRow>(
    `SELECT ${promptColumns} FROM prompts WHERE turn_id IS NULL ORDER BY ordinal`,
  );
  return {
    getValue(key) {
      const row = value.get(key);
      if (row === undefined) return undefined;
      if (row.key !== key) throw damagedRow(`value ${key}`);
      checkSum(`value ${key}`, row.sum, rowSum([key], row.value));
      return unpackPayload<JsonValue>(row.value);
    },
    findPrompt(nonce) {
      const row = promptByNonce.get(nonce);
      if (row === undefined) return undefined;
      // What the index of nonces says is right only when the row says the same.
      if (row.nonce !== nonce) throw damagedRow(`prompt ${row.prompt_id}`);
      return promptFromRow(row, codec);
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
  const allRecords = connection.prepare<unknown[], RecordSqlRow>(
    "SELECT turn_id, ordinal, body, sum FROM turn_records WHERE turn_id = ? ORDER BY ordinal",
  );
  const recordsOfKind = connection.prepare<unknown[], RecordSqlRow>(
    "SELECT turn_id, ordinal, body, sum FROM turn_records WHERE turn_id = ? AND kind = ? ORDER BY ordinal",
  );
  const recordFrom = <Kind extends TurnRecord>(row: RecordSqlRow): Kind => {
    const { turn_id, ordinal, body } = row;
    checkSum(`record ${ordinal} of ${turn_id}`, row.sum, recordSum(turn_id, ordinal, body));
    return codec.unpack<Kind>(body);
  };
  return {
    openTurn() {
      const row = open.get();
      return row === undefined ? undefined : turnFromRow(row);
    },
    settledTurns({ limit, beforeGeneration }): readonly TurnRow[] {
      return settled.all(beforeGeneration ?? endOfNumbers, pageSize(limit)).map(turnFromRow);
    },
    records: (turnId) =>
      allRecords.all(turnId).map((row, index) => {
        // Numbered from one without a gap, so one that a damaged page hides shows.
        if (row.ordinal !== index + 1) throw damagedRow(`record ${index + 1} of ${turnId}`);
        return recordFrom<TurnRecord>(row);
      }),
    recordsOfKind: <Kind extends TurnRecordKind>(turnId: TurnId, kind: Kind) =>
      recordsOfKind
        .all(turnId, kind)
        .map((row) => recordFrom<Extract<TurnRecord, { readonly kind: Kind }>>(row)),
  };
}
