/**
 * What the records of one turn add up to.
 *
 * `reduceTurn` folds one record at a time and refuses a contradiction that a single writer can't produce
 * (`store/damaged`): such a turn is never repaired by guessing (INV-7). It is pure: the live turn and the turn read
 * back after a crash are the same value.
 */
import { BoxError, type CallId, type ErrorCode, type ExecutionId, type TurnId } from "@sand/protocol";
import type {
  PromptText,
  Provenance,
  ReplayPolicy,
  ToolCallRecord,
  ToolResultRecord,
  TurnOutcome,
  TurnRecord,
} from "./turn-records.ts";

export interface CallView {
  readonly call: ToolCallRecord;
  readonly intent: { readonly executionId: ExecutionId; readonly replay: ReplayPolicy } | null;
  readonly result: ToolResultRecord | null;
}

export interface StepView {
  readonly step: number;
  readonly completed: Extract<TurnRecord, { kind: "stepCompleted" }>;
  readonly calls: readonly CallView[];
}

/** the model call that is under way or failed last; `null` right after a completed step */
export interface AttemptView {
  readonly step: number;
  readonly attempt: number;
  readonly failures: number;
  readonly lastFailure: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly retryAtMs: number | null;
  } | null;
}

export interface TurnView {
  readonly turnId: TurnId;
  readonly generation: number;
  readonly provenance: Provenance;
  readonly prompts: readonly { readonly prompt: PromptText; readonly beforeStep: number }[];
  readonly steps: readonly StepView[];
  readonly attempt: AttemptView | null;
  /** the provider refused the reasoning that it got in this turn, so the turn goes on without any */
  readonly reasoningRefused: boolean;
  readonly interruptedBy: "user" | "prompt" | "delete" | null;
  readonly resumesWithoutProgress: number;
  readonly boxAbsences: number;
  readonly boxAbsence: { readonly code: ErrorCode; readonly reason: string } | null;
  readonly settled: { readonly outcome: TurnOutcome; readonly code: ErrorCode | null } | null;
}

/** the step that a model call would make next, counted from 1 */
export function upcomingStep(view: TurnView): number {
  return view.steps.length + 1;
}

/** calls of the newest step without a result, in call order */
export function unsettledCalls(view: TurnView): readonly CallView[] {
  return view.steps.at(-1)?.calls.filter((call) => call.result === null) ?? [];
}

function damaged(what: string): BoxError {
  return new BoxError("store/damaged", `the turn's records contradict each other: ${what}`);
}

/** Folds all records of a turn. `undefined` for an empty list. */
export function reduceTurnRecords(records: readonly TurnRecord[]): TurnView | undefined {
  let view: TurnView | undefined;
  for (const record of records) view = reduceTurn(view, record);
  return view;
}

/** Folds one record into the view. */
export function reduceTurn(view: TurnView | undefined, record: TurnRecord): TurnView {
  if (record.kind === "turnStarted") {
    if (view !== undefined) throw damaged("it starts twice");
    return startView(record);
  }
  if (view === undefined) throw damaged(`${record.kind} before its start`);
  if (view.settled !== null) throw damaged(`${record.kind} after its end`);
  return foldIntoOpenTurn(view, record);
}

type LaterRecord = Exclude<TurnRecord, { kind: "turnStarted" }>;

function foldIntoOpenTurn(view: TurnView, record: LaterRecord): TurnView {
  switch (record.kind) {
    case "promptDelivered":
      return {
        ...view,
        prompts: [...view.prompts, { prompt: record.prompt, beforeStep: record.beforeStep }],
      };
    case "turnResumed":
      return record.marker === undefined
        ? { ...view, resumesWithoutProgress: view.resumesWithoutProgress + 1 }
        : view;
    case "boxReady":
      return { ...view, boxAbsences: 0, boxAbsence: null };
    case "boxAbsent":
      return {
        ...view,
        boxAbsences: view.boxAbsences + 1,
        boxAbsence: { code: record.code, reason: record.reason },
      };
    case "stepPrepared":
      return withPrepared(view, record);
    case "stepFailed":
      return withFailure(view, record);
    case "stepCompleted":
      return withCompleted(view, record);
    case "callReviewed":
      findCall(view, record.callId);
      return view;
    case "toolIntended":
      return withCall(view, record.callId, (call) => {
        if (call.result !== null) throw damaged(`an intent after the result of ${record.callId}`);
        return { ...call, intent: { executionId: record.executionId, replay: record.replay } };
      });
    case "toolSettled":
      return withProgress(
        withCall(view, record.result.callId, (call) => {
          if (call.result !== null) throw damaged(`two results of ${record.result.callId}`);
          return { ...call, result: record.result };
        }),
      );
    case "interruptRequested":
      return { ...view, interruptedBy: view.interruptedBy ?? record.by };
    case "turnSettled":
      return { ...view, settled: { outcome: record.outcome, code: record.code } };
  }
}

function startView(record: Extract<TurnRecord, { kind: "turnStarted" }>): TurnView {
  return {
    turnId: record.turnId,
    generation: record.generation,
    provenance: record.provenance,
    prompts: [],
    steps: [],
    attempt: null,
    reasoningRefused: false,
    interruptedBy: null,
    resumesWithoutProgress: 0,
    boxAbsences: 0,
    boxAbsence: null,
    settled: null,
  };
}

function withProgress(view: TurnView): TurnView {
  return { ...view, resumesWithoutProgress: 0, boxAbsences: 0, boxAbsence: null };
}

function withPrepared(view: TurnView, record: Extract<TurnRecord, { kind: "stepPrepared" }>): TurnView {
  if (record.step !== upcomingStep(view))
    throw damaged(`step ${record.step} prepared after ${view.steps.length} steps`);
  const failures = view.attempt?.failures ?? 0;
  return { ...view, attempt: { step: record.step, attempt: record.attempt, failures, lastFailure: null } };
}

function withFailure(view: TurnView, record: Extract<TurnRecord, { kind: "stepFailed" }>): TurnView {
  if (view.attempt?.step !== record.step)
    throw damaged(`a failure of step ${record.step}, which is not under way`);
  return {
    ...view,
    reasoningRefused: view.reasoningRefused || record.code === "inference/bad-reasoning",
    attempt: {
      ...view.attempt,
      failures: view.attempt.failures + 1,
      lastFailure: { code: record.code, message: record.message, retryAtMs: record.retryAtMs },
    },
  };
}

function withCompleted(view: TurnView, record: Extract<TurnRecord, { kind: "stepCompleted" }>): TurnView {
  if (record.step !== upcomingStep(view))
    throw damaged(`step ${record.step} completed after ${view.steps.length} steps`);
  const calls = record.calls.map((call) => ({ call, intent: null, result: null }));
  return withProgress({
    ...view,
    attempt: null,
    steps: [...view.steps, { step: record.step, completed: record, calls }],
  });
}

function findCall(view: TurnView, callId: CallId): CallView {
  const found = view.steps.at(-1)?.calls.find((call) => call.call.callId === callId);
  if (found === undefined)
    throw damaged(`a record of the call ${callId}, which the newest step doesn't have`);
  return found;
}

function withCall(view: TurnView, callId: CallId, change: (call: CallView) => CallView): TurnView {
  const changed = change(findCall(view, callId));
  const newest = view.steps.at(-1);
  if (newest === undefined) return view;
  const calls = newest.calls.map((call) => (call.call.callId === callId ? changed : call));
  return { ...view, steps: [...view.steps.slice(0, -1), { ...newest, calls }] };
}
