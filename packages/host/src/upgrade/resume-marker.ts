/**
 * The mark that an upgrade leaves at a turn which it stopped: "this turn was left in order". It lies in the agent's
 * store, one for each interrupted turn.
 *
 * Whoever goes on with the turn takes the mark away in the same transaction that records the resume, so each is used up
 * exactly once; so does the settlement of a turn that came to its end after all. A resume by a mark isn't counted as one
 * after a crash: a turn may wait through any number of upgrades.
 */
import type { AgentReads, TurnRow } from "@sand/agent-core";
import type { ChangeTx } from "../agents/agent-handle.ts";

const markerKey = "resumeMarker";

/** Marks the turn, unless an earlier upgrade has and nobody has gone on with it since. False when it was marked. */
export function leaveMarker(tx: ChangeTx, turn: TurnRow, upgradeId: string): boolean {
  if (readMarker(tx, turn.turnId) !== undefined) return false;
  tx.setValue(markerKey, { turnId: turn.turnId, upgradeId });
  tx.emit("turn", {
    agentId: tx.agentId,
    turnId: turn.turnId,
    generation: turn.generation,
    type: "turnQuiesced",
    marker: upgradeId,
  });
  return true;
}

/** The upgrade that stopped the turn, while nobody has gone on with it. */
export function readMarker(reads: Pick<AgentReads, "getValue">, turnId: string): string | undefined {
  const stored = reads.getValue(markerKey);
  if (typeof stored !== "object" || stored === null || !("turnId" in stored)) return undefined;
  return stored.turnId === turnId && typeof stored.upgradeId === "string" ? stored.upgradeId : undefined;
}

/** Uses the turn's mark up, in the caller's transaction. */
export function takeMarker(tx: ChangeTx, turnId: string): string | undefined {
  const upgradeId = readMarker(tx, turnId);
  if (upgradeId !== undefined) tx.setValue(markerKey, null);
  return upgradeId;
}
