/**
 * What a turn's loop would write, as records, for effects that need nothing from outside. One effect's records are one
 * commit, so in a journal they stand right behind each other.
 */
import { isDeepStrictEqual } from "node:util";
import type { CallView, Effect, TurnRecord, TurnView } from "@sand/agent-core";
import { unsettledCalls } from "@sand/agent-core";
import type { AgentId } from "@sand/protocol";
import { executionIdOf, judgeCall } from "../turns/plan-calls.ts";
import { type CallResult, errorResult } from "../turns/settle-call.ts";
import { leftOverResult } from "../turns/settle-turn.ts";
import type { ReplayTools } from "./replay-tools.ts";

/** a record without what a replay can't know: times, and what a review or a tool's definition said */
export type ExpectedRecord =
  | { readonly kind: "callReviewed"; readonly callId: string }
  | { readonly kind: "toolIntended"; readonly callId: string; readonly executionId: string }
  | { readonly kind: "toolSettled"; readonly result: { readonly callId: string } & CallResult }
  | ({ readonly kind: "turnSettled" } & Pick<
      Extract<Effect, { type: "settle" }>,
      "outcome" | "code" | "reason"
    >);

/** The intents of the calls that run and the results of those that can't, in call order. */
export function expectPlans(
  calls: readonly CallView[],
  tools: ReplayTools,
  agentId: AgentId,
): readonly ExpectedRecord[] {
  return calls.flatMap((view): readonly ExpectedRecord[] => {
    const { callId } = view.call;
    const judged = judgeCall(view.call, tools);
    if (judged.kind === "refuse") return [settled(view, judged.result)];
    if (view.intent !== null) return [];
    return [
      { kind: "callReviewed", callId },
      { kind: "toolIntended", callId, executionId: executionIdOf(agentId, callId) },
    ];
  });
}

export function expectRefusals(calls: readonly CallView[], why: string): readonly ExpectedRecord[] {
  return calls.map((call) => settled(call, errorResult(why)));
}

/** The end of a turn: results for what has none, and the settlement. */
export function expectEnd(
  view: TurnView,
  { outcome, code, reason }: Extract<Effect, { type: "settle" }>,
): readonly ExpectedRecord[] {
  const left = unsettledCalls(view).map((call) => settled(call, leftOverResult(call)));
  return [...left, { kind: "turnSettled", outcome, code, reason }];
}

function settled({ call }: CallView, result: CallResult): ExpectedRecord {
  return { kind: "toolSettled", result: { callId: call.callId, ...result } };
}

export function isAsExpected(record: TurnRecord, expected: ExpectedRecord): boolean {
  return isDeepStrictEqual(comparable(record), expected);
}

/** The part of a record that an expected one has. */
export function comparable(record: TurnRecord): ExpectedRecord | undefined {
  switch (record.kind) {
    case "callReviewed":
      return { kind: record.kind, callId: record.callId };
    case "toolIntended":
      return { kind: record.kind, callId: record.callId, executionId: record.executionId };
    case "toolSettled":
      return { kind: record.kind, result: record.result };
    case "turnSettled": {
      const { kind, outcome, code, reason } = record;
      return { kind, outcome, code, reason };
    }
    case "turnStarted":
    case "promptDelivered":
    case "turnResumed":
    case "boxReady":
    case "boxAbsent":
    case "stepPrepared":
    case "stepFailed":
    case "stepCompleted":
    case "interruptRequested":
      return undefined;
  }
}
