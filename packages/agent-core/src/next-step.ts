/**
 * What to do next, as a pure function of the records and of what only the running process knows. It returns one
 * effect; the shell performs it, commits what came of it, and asks again.
 */
import type { ErrorCode } from "@sand/protocol";
import { turnLimits } from "./limits.ts";
import type { PromptRow } from "./store-port.ts";
import { isStuck } from "./stuck-turn.ts";
import type { TurnOutcome } from "./turn-records.ts";
import { type CallView, type TurnView, unsettledCalls, upcomingStep } from "./turn-view.ts";

/** what the records can't know */
export interface TurnSurroundings {
  /** the box answered an authenticated ping to this process, and no call has lost it since */
  readonly boxIsReady: boolean;
  /** accepted prompts that no turn has taken yet, in order of acceptance */
  readonly pending: readonly PromptRow[];
  readonly nowMs: number;
  /** the model call whose intent this run has committed and that it hasn't begun */
  readonly prepared: { readonly step: number; readonly attempt: number } | null;
}

export type Effect =
  | { readonly type: "done" }
  | { readonly type: "ensureBox" }
  | { readonly type: "deliverPrompts"; readonly prompts: readonly PromptRow[]; readonly beforeStep: number }
  | { readonly type: "waitToRetry"; readonly untilMs: number }
  | { readonly type: "callModel"; readonly step: number; readonly attempt: number }
  /** calls that can't run: each gets an error result that says why */
  | { readonly type: "refuseCalls"; readonly calls: readonly CallView[]; readonly why: string }
  | { readonly type: "runCalls"; readonly calls: readonly CallView[] }
  /** the turn ends while calls are under way: their effects are stopped and their output collected */
  | { readonly type: "stopCalls"; readonly calls: readonly CallView[] }
  | {
      readonly type: "settle";
      readonly outcome: TurnOutcome;
      readonly code: ErrorCode | null;
      readonly reason: string | null;
    };

export function nextStep(view: TurnView, surroundings: TurnSurroundings): Effect {
  if (view.settled !== null) return { type: "done" };
  const open = unsettledCalls(view);
  if (view.interruptedBy !== null) return nextOfInterrupted(view, open, surroundings);
  if (view.resumesWithoutProgress > turnLimits.resumesWithoutProgressMax) {
    return settleWithError(
      "turn/resume-exhausted",
      `the host was started ${view.resumesWithoutProgress} times without this turn getting any further`,
    );
  }
  if (open.length > 0) return nextOfCalls(view, open, surroundings);
  const newest = view.steps.at(-1);
  if (newest !== undefined && newest.calls.length === 0)
    return { type: "settle", outcome: "success", code: null, reason: null };
  return nextModelCall(view, surroundings);
}

function settleWithError(code: ErrorCode, reason: string): Effect {
  return { type: "settle", outcome: "error", code, reason };
}

function nextOfInterrupted(
  view: TurnView,
  open: readonly CallView[],
  surroundings: TurnSurroundings,
): Effect {
  const begun = open.filter((call) => call.intent !== null);
  const canReachBox = surroundings.boxIsReady || view.boxAbsences < turnLimits.boxAbsencesMax;
  if (begun.length > 0 && canReachBox)
    return surroundings.boxIsReady ? { type: "stopCalls", calls: begun } : { type: "ensureBox" };
  return { type: "settle", outcome: "aborted", code: null, reason: interruptReason(view) };
}

function interruptReason(view: TurnView): string {
  return view.interruptedBy === "prompt" ? "superseded by a newer prompt" : "interrupted by the user";
}

function nextOfCalls(view: TurnView, open: readonly CallView[], surroundings: TurnSurroundings): Effect {
  const newest = view.steps.at(-1);
  if (newest !== undefined && newest.calls.length > turnLimits.callsPerStepMax) {
    const why = `One step may ask for ${turnLimits.callsPerStepMax} calls at most, so none of these was run. Ask for fewer at a time.`;
    return { type: "refuseCalls", calls: open, why };
  }
  const finish = newest?.completed.finish;
  if (finish === "length" || finish === "content-filter") {
    const why =
      finish === "length"
        ? "The answer was cut off at the output limit, so this call was not run. Ask again in smaller pieces."
        : "The provider's filter cut the answer off, so this call was not run.";
    return { type: "refuseCalls", calls: open, why };
  }
  if (surroundings.boxIsReady) return { type: "runCalls", calls: open };
  if (view.boxAbsences >= turnLimits.boxAbsencesWithCallsMax) return settleWithoutBox(view);
  return { type: "ensureBox" };
}

function settleWithoutBox(view: TurnView): Effect {
  return settleWithError(
    view.boxAbsence?.code ?? "box/unavailable",
    view.boxAbsence?.reason ?? "the box can't be reached",
  );
}

function nextModelCall(view: TurnView, surroundings: TurnSurroundings): Effect {
  const step = upcomingStep(view);
  const joining = surroundings.pending.filter((prompt) => prompt.whenBusy !== "queue");
  if (joining.length > 0) return { type: "deliverPrompts", prompts: joining, beforeStep: step };
  if (step > turnLimits.stepsMax)
    return settleWithError("turn/step-limit", `a turn may take ${turnLimits.stepsMax} model steps`);
  if (isStuck(view))
    return settleWithError("turn/no-progress", "the model asks again and again for calls that can't be run");
  const failure = view.attempt?.lastFailure ?? null;
  if (failure !== null) {
    if (failure.retryAtMs === null) return settleWithError(failure.code, failure.message);
    if (failure.retryAtMs > surroundings.nowMs) return { type: "waitToRetry", untilMs: failure.retryAtMs };
  }
  if (!surroundings.boxIsReady)
    return view.boxAbsences >= turnLimits.boxAbsencesMax ? settleWithoutBox(view) : { type: "ensureBox" };
  return { type: "callModel", step, attempt: attemptOf(view, surroundings) };
}

/** An intent that another run left behind may have been followed by its call, so that attempt isn't used again. */
function attemptOf({ attempt }: TurnView, { prepared }: TurnSurroundings): number {
  if (attempt === null) return 1;
  const isOurs = prepared?.step === attempt.step && prepared.attempt === attempt.attempt;
  return isOurs && attempt.lastFailure === null ? attempt.attempt : attempt.attempt + 1;
}

/**
 * The prompt that opens the next turn: a superseding one goes first, so that it isn't kept waiting by prompts that
 * asked to wait; else the oldest.
 */
export function nextOpeningPrompt(pending: readonly PromptRow[]): PromptRow | undefined {
  return pending.find((prompt) => prompt.whenBusy === "interrupt") ?? pending[0];
}
