/** How prompts and turns lie in their tables. Text that people wrote is inside JSON, so that any string survives. */
import type { PromptRow, Provenance, TurnOutcome, TurnRow, TurnState, WhenBusy } from "@sand/agent-core";
import { brandId, type ClientNonce, type EntryId, type PromptId, type TurnId } from "@sand/protocol";
import type { PayloadCodec } from "./payload.ts";

export const promptColumns = "prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body";

export interface PromptSqlRow {
  readonly prompt_id: string;
  readonly nonce: string;
  readonly digest: string;
  readonly entry_id: string;
  readonly accepted_at_ms: number;
  readonly turn_id: string | null;
  readonly body: string;
}

interface PromptBody {
  readonly text: string;
  readonly whenBusy: WhenBusy;
  readonly provenance: Provenance;
}

export function promptFromRow(row: PromptSqlRow, codec: PayloadCodec): PromptRow {
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
  return [row.promptId, row.nonce, row.digest, row.entryId, row.acceptedAtMs, row.turnId, packed];
}

export const turnColumns = "turn_id, generation, state, outcome, started_at_ms, settled_at_ms";

export interface TurnSqlRow {
  readonly turn_id: string;
  readonly generation: number;
  readonly state: TurnState;
  readonly outcome: TurnOutcome | null;
  readonly started_at_ms: number;
  readonly settled_at_ms: number | null;
}

export function turnFromRow(row: TurnSqlRow): TurnRow {
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
  return [row.turnId, row.generation, row.state, row.outcome, row.startedAtMs, row.settledAtMs];
}
