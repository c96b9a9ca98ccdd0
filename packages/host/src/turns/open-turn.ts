/** The change that opens a turn with its first prompt. Always part of a larger one: an acceptance or a settlement. */
import type { PromptRow } from "@sand/agent-core";
import type { TurnId } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { recordInTurn } from "./record-in-turn.ts";

const generationKey = "generation";

export interface TurnToOpen {
  readonly prompt: PromptRow;
  readonly turnId: TurnId;
  readonly atMs: number;
}

export function openTurn(tx: ChangeTx, opening: TurnToOpen): void {
  const { prompt, turnId, atMs } = opening;
  const last = tx.getValue(generationKey);
  const generation = (typeof last === "number" ? last : 0) + 1;
  tx.setValue(generationKey, generation);
  tx.insertTurn({ turnId, generation, state: "open", outcome: null, startedAtMs: atMs, settledAtMs: null });
  const fence = { turnId, generation };
  recordInTurn(tx, fence, { kind: "turnStarted", turnId, generation, atMs, provenance: prompt.provenance });
  deliverPrompt(tx, { fence, prompt, beforeStep: 1, atMs });
  tx.rosterChanged();
}

export interface Delivery {
  readonly fence: { readonly turnId: TurnId; readonly generation: number };
  readonly prompt: PromptRow;
  readonly beforeStep: number;
  readonly atMs: number;
}

/** Gives a prompt to a turn: the row's compare-and-set and the record stand in the same transaction (INV-6). */
export function deliverPrompt(tx: ChangeTx, delivery: Delivery): void {
  const { promptId, entryId, nonce, text, provenance } = delivery.prompt;
  tx.deliverPrompt(promptId, delivery.fence.turnId);
  recordInTurn(tx, delivery.fence, {
    kind: "promptDelivered",
    prompt: { promptId, entryId, nonce, text, provenance },
    beforeStep: delivery.beforeStep,
    atMs: delivery.atMs,
  });
}
