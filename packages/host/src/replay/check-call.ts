/**
 * Replays what a turn does with its calls, and its end: intents, refusals, results and the settlement.
 *
 * Whether the box answered isn't on record where nothing came of it, so both are tried.
 */
import { type CallView, type Effect, type TurnRecord, unsettledCalls } from "@sand/agent-core";
import type { Difference } from "@sand/store/offline";
import { asJson } from "../agents/agent-handle.ts";
import {
  type ExpectedRecord,
  expectEnd,
  expectPlans,
  expectRefusals,
  isAsExpected,
} from "./expected-records.ts";
import { differs, propose, shown, type TurnRun } from "./turn-run.ts";

type CallRecord = Extract<TurnRecord, { kind: "callReviewed" | "toolIntended" | "toolSettled" }>;

export function checkCall(run: TurnRun, record: CallRecord): Difference | null {
  const { view } = run;
  const callId = record.kind === "toolSettled" ? record.result.callId : record.callId;
  const call = unsettledCalls(view).find((one) => one.call.callId === callId);
  const effects = guesses(run, record.atMs);
  for (const effect of effects) {
    const expected = expectOf(run, effect);
    const [first, ...rest] = expected;
    if (first === undefined || !isAsExpected(record, first)) continue;
    run.expected = rest;
    return null;
  }
  const isUnderWay = effects.some(({ type }) => type === "runCalls" || type === "stopCalls");
  if (isUnderWay && call !== undefined && isFromOutside(run, record, call)) return null;
  const [likely] = effects;
  const [expected] = likely === undefined ? [] : expectOf(run, likely);
  const replayed = expected ?? { effect: likely?.type ?? null };
  const rule = record.kind === "toolSettled" ? "result" : "intent";
  return differs(rule, "another record of a call comes next", shown(record), asJson(replayed));
}

/** The outcome of an effect that is under way may be any. Without the tools of the request nothing can be said. */
function isFromOutside({ tools }: TurnRun, record: CallRecord, call: CallView): boolean {
  return tools === undefined || (record.kind === "toolSettled" && call.intent !== null);
}

/** What may come next, with the box and without it. */
function guesses({ view }: TurnRun, atMs: number): readonly Effect[] {
  return [propose(view, { boxIsReady: true, atMs }), propose(view, { boxIsReady: false, atMs })];
}

function expectOf(run: TurnRun, effect: Effect): readonly ExpectedRecord[] {
  switch (effect.type) {
    case "runCalls":
      return run.tools === undefined ? [] : expectPlans(effect.calls, run.tools, run.journal.agentId);
    case "refuseCalls":
      return expectRefusals(effect.calls, effect.why);
    case "settle":
      return expectEnd(run.view, effect);
    case "stopCalls":
    case "done":
    case "ensureBox":
    case "deliverPrompts":
    case "waitToRetry":
    case "callModel":
      return [];
  }
}

export function checkEnd(
  run: TurnRun,
  record: Extract<TurnRecord, { kind: "turnSettled" }>,
): Difference | null {
  // Somebody outside of the loop ended it at a boundary.
  if (record.outcome === "quiesced" || record.outcome === "awaiting-user") return null;
  const effects = guesses(run, record.atMs);
  for (const effect of effects) {
    const [first] = expectOf(run, effect);
    if (effect.type === "settle" && first !== undefined && isAsExpected(record, first)) return null;
  }
  const [likely] = effects;
  const replayed =
    likely?.type === "settle" ? { ...expectOf(run, likely)[0] } : { effect: likely?.type ?? null };
  return differs("settlement", "the turn goes on, or ends otherwise", shown(record), asJson(replayed));
}
