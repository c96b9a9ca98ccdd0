/** Writes the one result of a call, with its entry, in one transaction. */
import type { CallView, ToolResultRecord, TurnRecord } from "@sand/agent-core";
import type { JsonObject, ToolCallEntry, ToolCallStatus } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { recordInTurn } from "./record-in-turn.ts";
import type { TurnContext } from "./turn-context.ts";

/** characters of output that an entry shows; the whole is under the handle */
const entryOutputMaxLength = 8_000;

export interface CallResult {
  readonly outcome: ToolResultRecord["outcome"];
  readonly text: string;
  readonly outputHandle: string | null;
  readonly details: JsonObject;
}

export function settledRecord(context: TurnContext, call: CallView, result: CallResult): TurnRecord {
  const record: ToolResultRecord = { callId: call.call.callId, ...result };
  return { kind: "toolSettled", result: record, atMs: context.services.clock.nowMs() };
}

export function settleCall(tx: ChangeTx, context: TurnContext, call: CallView, result: CallResult): void {
  recordInTurn(tx, context.fence, settledRecord(context, call, result));
  showCall(tx, call, statusOf(result.outcome), result);
}

/** Changes the call's entry in place; an entry that isn't there any more is left alone. */
export function showCall(tx: ChangeTx, call: CallView, status: ToolCallStatus, result?: CallResult): void {
  const stored = tx.findEntry(call.call.entryId)?.entry;
  if (stored?.kind !== "tool-call") return;
  const entry: ToolCallEntry = {
    ...stored,
    status,
    ...(result === undefined
      ? {}
      : { outputHandle: result.outputHandle, outputPreview: previewOf(result.text) }),
  };
  tx.updateEntry(entry);
}

function previewOf(text: string): string {
  return text.length <= entryOutputMaxLength ? text : `${text.slice(0, entryOutputMaxLength)}…`;
}

function statusOf(outcome: ToolResultRecord["outcome"]): ToolCallStatus {
  switch (outcome) {
    case "ok":
      return "completed";
    case "error":
      return "failed";
    case "interrupted":
    case "denied":
    case "unknown":
      return outcome;
  }
}

export function errorResult(text: string): CallResult {
  return { outcome: "error", text, outputHandle: null, details: {} };
}
