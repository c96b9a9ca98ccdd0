/**
 * Writes one record of a turn, and with it the checkpoint event that clients may watch (channel `turn`). The event
 * names what happened, never prompts, arguments or output.
 */
import type { TurnFence, TurnRecord } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";

export function recordInTurn(tx: ChangeTx, fence: TurnFence, record: TurnRecord): void {
  tx.appendRecord(fence, record);
  tx.emit("turn", {
    agentId: tx.agentId,
    turnId: fence.turnId,
    generation: fence.generation,
    type: record.kind,
    ...factsOf(record),
  });
}

function factsOf(record: TurnRecord): JsonObject {
  switch (record.kind) {
    case "turnStarted":
    case "boxReady":
      return {};
    case "turnResumed":
      return record.marker === undefined ? {} : { marker: record.marker };
    case "promptDelivered":
      return { promptId: record.prompt.promptId, step: record.beforeStep };
    case "boxAbsent":
      return { code: record.code };
    case "stepPrepared":
      return { step: record.step, attempt: record.attempt };
    case "stepFailed":
      return { step: record.step, attempt: record.attempt, code: record.code, retryAtMs: record.retryAtMs };
    case "stepCompleted":
      return { step: record.step, finish: record.finish, calls: record.calls.length };
    case "callReviewed":
      return { callId: record.callId, verdict: record.verdict };
    case "toolIntended":
      return { callId: record.callId, executionId: record.executionId, replay: record.replay };
    case "toolSettled":
      return { callId: record.result.callId, outcome: record.result.outcome };
    case "interruptRequested":
      return { by: record.by };
    case "turnSettled":
      return { outcome: record.outcome, code: record.code };
  }
}
