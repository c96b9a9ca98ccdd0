/** Replays one model step: its recorded parts go through the collector again, and its calls get their names again. */
import { isDeepStrictEqual } from "node:util";
import {
  createStepCollector,
  planRetry,
  type StepCollector,
  type ToolCallRecord,
  type TurnRecord,
  type TurnView,
  turnLimits,
} from "@sand/agent-core";
import { brandId, type CallId, type EntryId } from "@sand/protocol";
import type { Difference } from "@sand/store/offline";
import { asJson } from "../agents/agent-handle.ts";

type StepCompleted = Extract<TurnRecord, { kind: "stepCompleted" }>;
type StepFailed = Extract<TurnRecord, { kind: "stepFailed" }>;

export function checkCompleted(view: TurnView, record: StepCompleted): Difference | null {
  const wrong = checkAttempt(view, record);
  if (wrong !== null) return wrong;
  const collector = createStepCollector();
  feed(collector, record);
  const collected = collector.result();
  const recorded = { kind: "completed", ...partsOf(record) };
  const replayed =
    collected.kind === "completed"
      ? {
          kind: collected.kind,
          ...partsOf({ ...collected, calls: nameCalls(view, record, collected.calls) }),
          answerEntryId: answerIdOf(view, record),
        }
      : { kind: collected.kind, code: collected.code };
  if (isDeepStrictEqual(recorded, replayed)) return null;
  return {
    rule: "answer",
    what: "the model's parts come to another step",
    recorded: asJson(recorded),
    replayed: asJson(replayed),
  };
}

function feed(collector: StepCollector, record: StepCompleted): void {
  for (const part of record.rawParts) collector.add({ type: "raw", part });
  if (record.text !== "") collector.add({ type: "text-delta", text: record.text });
  for (const { providerCallId, name, argsText } of record.calls)
    collector.add({ type: "tool-call", providerCallId, name, argsText });
  collector.add({ type: "finish", finish: record.finish, usage: record.usage });
}

function partsOf(step: Pick<StepCompleted, "finish" | "text" | "calls" | "rawParts" | "usage"> & object) {
  const { finish, text, calls, rawParts, usage } = step;
  const answerEntryId = "answerEntryId" in step ? step.answerEntryId : null;
  return { finish, text, calls: calls.map((call) => ({ ...call })), rawParts, usage, answerEntryId };
}

/** Our own ids come from the turn and the place of a call; the provider's may be anything that is there once. */
function nameCalls(
  view: TurnView,
  { step }: StepCompleted,
  calls: readonly {
    readonly providerCallId: string | null;
    readonly name: string;
    readonly argsText: string;
  }[],
): readonly ToolCallRecord[] {
  const seen = new Set<string>();
  return calls.map(({ providerCallId, name, argsText }, index) => {
    const id = `${view.turnId}.s${step}.c${index}`;
    const isFresh = providerCallId !== null && providerCallId !== "" && !seen.has(providerCallId);
    seen.add(providerCallId ?? "");
    const given = isFresh ? providerCallId : "an id that no other call of the step has";
    const ids = { callId: brandId<CallId>(id), entryId: brandId<EntryId>(id) };
    return { ...ids, providerCallId: given, name, argsText };
  });
}

function answerIdOf(view: TurnView, { step, calls, text }: StepCompleted): string | null {
  return calls.length === 0 && text !== "" ? `${view.turnId}.s${step}.answer` : null;
}

/** The provider's own wish isn't on record, so only the bounds of the wait can be checked. */
export function checkFailed(view: TurnView, record: StepFailed): Difference | null {
  const wrong = checkAttempt(view, record);
  if (wrong !== null) return wrong;
  const { retryAtMs, atMs } = record;
  if (retryAtMs === null) return null;
  const earlierFailures = view.attempt?.failures ?? 0;
  const soonest = planRetry({ retryable: true, retryAfterMs: null, earlierFailures }, atMs);
  if (soonest !== null && retryAtMs >= soonest && retryAtMs <= atMs + turnLimits.retryMaxMs) return null;
  return {
    rule: "retry",
    what: soonest === null ? "this many failures end the turn" : "the next attempt has another time",
    recorded: retryAtMs,
    replayed: soonest,
  };
}

/** A model's outcome belongs to the attempt whose intent is the newest. */
function checkAttempt(view: TurnView, record: StepCompleted | StepFailed): Difference | null {
  const { attempt } = view;
  const isOfIt =
    attempt?.step === record.step && attempt.attempt === record.attempt && attempt.lastFailure === null;
  if (isOfIt) return null;
  return {
    rule: "intent",
    what: "the outcome of a model call that was never prepared",
    recorded: { step: record.step, attempt: record.attempt },
    replayed: attempt === null ? null : { step: attempt.step, attempt: attempt.attempt },
  };
}
