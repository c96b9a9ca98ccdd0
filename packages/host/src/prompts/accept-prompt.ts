/**
 * The change that accepts a prompt: nonce row, the user's entry and, when the agent is idle, the open turn, in one
 * transaction (INV-4). Whether it is new is decided inside, so that parallel posts of one nonce can't both win.
 */
import { type Acceptance, decideAcceptance, type PromptRow } from "@sand/agent-core";
import { brandId, type EntryId, type TurnId } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { openTurn } from "../turns/open-turn.ts";
import { recordInTurn } from "../turns/record-in-turn.ts";

export interface AcceptedPrompt {
  readonly acceptance: Acceptance;
  /** the row in the ledger, new or old */
  readonly row: PromptRow;
  /** a turn was running and has been asked to end for this prompt */
  readonly interrupts: boolean;
}

export interface PromptToAccept {
  readonly row: PromptRow;
  readonly replyToId: string | null;
  /** id for a turn, used when one has to be opened */
  readonly freshTurnId: TurnId;
}

export function acceptPrompt(tx: ChangeTx, prompt: PromptToAccept): AcceptedPrompt {
  const acceptance = decideAcceptance(tx.findPrompt(prompt.row.nonce), prompt.row.digest);
  if (acceptance.kind !== "fresh") return { acceptance, row: acceptance.row, interrupts: false };
  const { row } = prompt;
  tx.addEntry({
    kind: "message",
    id: row.entryId,
    role: "user",
    content: row.text,
    timestampMs: row.acceptedAtMs,
    clientNonce: row.nonce,
    ...(prompt.replyToId === null ? {} : { replyToId: prompt.replyToId }),
  });
  tx.insertPrompt(row);
  const running = tx.openTurn();
  if (running === undefined) {
    openTurn(tx, { prompt: row, turnId: prompt.freshTurnId, atMs: row.acceptedAtMs });
    return { acceptance, row, interrupts: false };
  }
  if (row.whenBusy !== "interrupt") return { acceptance, row, interrupts: false };
  const fence = { turnId: running.turnId, generation: running.generation };
  recordInTurn(tx, fence, { kind: "interruptRequested", by: "prompt", atMs: row.acceptedAtMs });
  return { acceptance, row, interrupts: true };
}

/** The entry of a prompt is named after it, so that a client can find its echo. */
export function promptEntryId(promptId: string): EntryId {
  return brandId<EntryId>(`prompt-${promptId}`);
}
