/** How prompts and turns lie in their tables. Text that people wrote is inside JSON, so that any string survives. */
import type { PromptRow, Provenance, TurnOutcome, TurnRow, TurnState, WhenBusy } from "@sand/agent-core";
import { brandId, type ClientNonce, type EntryId, type PromptId, type TurnId } from "@sand/protocol";
import type { PayloadCodec } from "./payload.ts";
import { checkSum, damagedRow, rowSum } from "./row-sums.ts";

export const promptColumns =
  "prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body, sum, turn_sum";

export interface PromptSqlRow {
  readonly prompt_id: string;
  readonly nonce: string;
  readonly digest: string;
  readonly entry_id: string;
  readonly accepted_at_ms: number;
  readonly turn_id: string | null;
  readonly body: string;
  readonly sum: number | null;
  readonly turn_sum: number | null;
}

interface PromptBody {
  readonly text: string;
  readonly whenBusy: WhenBusy;
  readonly provenance: Provenance;
}

/** of what a prompt says from the beginning */
export function promptSum(row: Omit<PromptSqlRow, "turn_id" | "sum" | "turn_sum">): number {
  return rowSum([row.prompt_id, row.nonce, row.digest, row.entry_id, row.accepted_at_ms], row.body);
}

/** of its one later change: the turn that it was delivered in */
export function deliverySum(promptId: string, turnId: string): number {
  return rowSum([promptId, turnId]);
}

export function checkPromptRow(row: PromptSqlRow): void {
  const where = `prompt ${row.prompt_id}`;
  checkSum(where, row.sum, promptSum(row));
  if (row.turn_id !== null) {
    checkSum(where, row.turn_sum, deliverySum(row.prompt_id, row.turn_id));
    if (row.sum === null || row.turn_sum !== null) return;
  } else if (row.turn_sum === null) return;
  throw damagedRow(where);
}

export function promptFromRow(row: PromptSqlRow, codec: PayloadCodec): PromptRow {
  checkPromptRow(row);
  const body = codec.unpack<PromptBody>(row.body);
  return {
    promptId: brandId<PromptId>(row.prompt_id),
    nonce: brandId<ClientNonce>(row.nonce),
    digest: row.digest,
    entryId: brandId<EntryId>(row.entry_id),
    text: body.text,
    whenBusy: body.whenBusy,
    provenance: body.provenance,
    acceptedAtMs: row.accepted_at_ms,
    turnId: row.turn_id === null ? null : brandId<TurnId>(row.turn_id),
  };
}

/** the values of `promptColumns` */
export function promptToValues(row: PromptRow, codec: PayloadCodec): readonly (string | number | null)[] {
  const body: PromptBody = { text: row.text, whenBusy: row.whenBusy, provenance: row.provenance };
  const packed = codec.pack(body, { kind: "row" });
  const { promptId, nonce, digest, entryId, acceptedAtMs, turnId } = row;
  const sum = rowSum([promptId, nonce, digest, entryId, acceptedAtMs], packed);
  const turnSum = turnId === null ? null : deliverySum(promptId, turnId);
  return [promptId, nonce, digest, entryId, acceptedAtMs, turnId, packed, sum, turnSum];
}

export const turnColumns = "turn_id, generation, state, outcome, started_at_ms, settled_at_ms, sum, end_sum";

export interface TurnSqlRow {
  readonly turn_id: string;
  readonly generation: number;
  readonly state: TurnState;
  readonly outcome: TurnOutcome | null;
  readonly started_at_ms: number;
  readonly settled_at_ms: number | null;
  readonly sum: number | null;
  readonly end_sum: number | null;
}

/** of what a turn says from the beginning */
export function turnSum(turnId: string, generation: number, startedAtMs: number): number {
  return rowSum([turnId, generation, startedAtMs]);
}

/** of its end */
export function endSum(turnId: string, outcome: string | null, settledAtMs: number | null): number {
  return rowSum([turnId, outcome, settledAtMs]);
}

export function checkTurnRow(row: TurnSqlRow): void {
  const where = `turn ${row.turn_id}`;
  checkSum(where, row.sum, turnSum(row.turn_id, row.generation, row.started_at_ms));
  checkSum(where, row.end_sum, endSum(row.turn_id, row.outcome, row.settled_at_ms));
  const isOver = row.end_sum !== null || (row.sum === null && row.settled_at_ms !== null);
  if (row.state !== (isOver ? "settled" : "open")) throw damagedRow(where);
}

export function turnFromRow(row: TurnSqlRow): TurnRow {
  checkTurnRow(row);
  return {
    turnId: brandId<TurnId>(row.turn_id),
    generation: row.generation,
    state: row.state,
    outcome: row.outcome,
    startedAtMs: row.started_at_ms,
    settledAtMs: row.settled_at_ms,
  };
}

/** the values of `turnColumns` */
export function turnToValues(row: TurnRow): readonly (string | number | null)[] {
  const { turnId, generation, state, outcome, startedAtMs, settledAtMs } = row;
  const end = state === "open" ? null : endSum(turnId, outcome, settledAtMs);
  const begin = turnSum(turnId, generation, startedAtMs);
  return [turnId, generation, state, outcome, startedAtMs, settledAtMs, begin, end];
}

/** of a record; its kind and its call stand in its body too */
export function recordSum(turnId: string, ordinal: number, body: string): number {
  return rowSum([turnId, ordinal], body);
}
