/**
 * Ends a turn: results for calls that have none, a notice when it went wrong, the settlement, and the next turn when
 * prompts wait — all in one transaction, so an agent with work to do is never seen idle in between.
 */
import { type CallView, type Effect, nextOpeningPrompt, unsettledCalls } from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import { brandId, type EntryId, type TurnId } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { takeMarker } from "../upgrade/resume-marker.ts";
import { openTurn } from "./open-turn.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { type CallResult, settleCall } from "./settle-call.ts";
import { type TurnContext, viewOf } from "./turn-context.ts";

type Settlement = Extract<Effect, { type: "settle" }>;

export async function settleTurn(context: TurnContext, settlement: Settlement): Promise<void> {
  const { handle, fence, services } = context;
  const open = unsettledCalls(viewOf(context));
  const finish = viewOf(context).steps.at(-1)?.completed.finish;
  failpoint("settle.before");
  const hasNext = await handle.commit((tx) => {
    const atMs = services.clock.nowMs();
    for (const call of open) settleCall(tx, context, call, leftOverResult(call));
    const notice = noticeOf(settlement, finish);
    if (notice !== null)
      tx.addEntry({
        kind: "notice",
        id: brandId<EntryId>(`${fence.turnId}.end`),
        ...notice,
        timestampMs: atMs,
      });
    const { outcome, code, reason } = settlement;
    recordInTurn(tx, fence, { kind: "turnSettled", outcome, code, reason, atMs });
    tx.settleTurn(fence, outcome, atMs);
    takeMarker(tx, fence.turnId);
    tx.rosterChanged();
    return !handle.isRetired && openNext(tx, brandId<TurnId>(services.ids.next()), atMs);
  });
  failpoint("settle.after");
  const { outcome, code } = settlement;
  services.logger.info(
    { event: "turn.settled", agentId: handle.agentId, turnId: fence.turnId, outcome, code },
    "a turn has ended",
  );
  if (!hasNext) services.onSettled(handle.agentId);
}

function openNext(tx: ChangeTx, turnId: TurnId, atMs: number): boolean {
  const prompt = nextOpeningPrompt(tx.pendingPrompts());
  if (prompt === undefined) return false;
  openTurn(tx, { prompt, turnId, atMs });
  return true;
}

/** What a call comes to that has no result when its turn ends. */
export function leftOverResult(call: CallView): CallResult {
  if (call.intent === null) {
    return {
      outcome: "interrupted",
      text: "The turn ended before this call was run.",
      outputHandle: null,
      details: {},
    };
  }
  const text = "The turn ended while this call was under way; whether it took effect is not known.";
  return { outcome: "unknown", text, outputHandle: null, details: {} };
}

interface Notice {
  readonly level: "info" | "warning" | "error";
  readonly code: string;
  readonly content: string;
}

function noticeOf(settlement: Settlement, finish: string | undefined): Notice | null {
  if (settlement.outcome === "error") {
    return {
      level: "error",
      code: settlement.code ?? "turn/error",
      content: `The turn ended with an error: ${settlement.reason ?? "unknown"}`,
    };
  }
  if (settlement.outcome === "aborted")
    return {
      level: "info",
      code: "turn/aborted",
      content: `The turn was ${settlement.reason ?? "interrupted"}.`,
    };
  if (finish === "length")
    return {
      level: "warning",
      code: "turn/cut-off",
      content: "The answer was cut off at the model's output limit.",
    };
  if (finish === "content-filter")
    return { level: "warning", code: "turn/filtered", content: "The provider's filter cut the answer off." };
  return null;
}
