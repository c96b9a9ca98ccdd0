/**
 * Runs a turn again from its journal: the same folding, the same decisions, with the model's parts, the tools' results
 * and what else came from outside taken from the records. The first record that this version of the program wouldn't
 * have written is the divergence.
 *
 * 1. What came from outside is never judged: prompts, interruptions, restarts, what a model answered, what a tool did.
 *    What the loop made of it always is: which effect came next, the request's hash, ids, refusals, retries, the end.
 * 2. The records of one effect are one commit. So once the first of them is there, the others must follow.
 * 3. Whether the box answered isn't on record where nothing came of it. Where it decides, either is tried.
 */
import { type Effect, nextStep, reduceTurn, type TurnRecord, upcomingStep } from "@sand/agent-core";
import { BoxError } from "@sand/protocol";
import type { Difference, TurnReplay } from "@sand/store/offline";
import { asJson } from "../agents/agent-handle.ts";
import { checkCall, checkEnd } from "./check-call.ts";
import { checkCompleted, checkFailed } from "./check-step.ts";
import { isAsExpected } from "./expected-records.ts";
import { readTools } from "./replay-tools.ts";
import type { RequestChecks } from "./request-checks.ts";
import type { TurnJournal } from "./turn-journal.ts";
import { differs, propose, shown, type TurnRun } from "./turn-run.ts";

export function replayTurn(journal: TurnJournal, requests: RequestChecks): TurnReplay {
  const { turnId, records } = journal;
  const [first] = records;
  const start = first === undefined ? undefined : checkStart(journal, first);
  if (first === undefined || start !== null)
    return diverged(journal, 0, start ?? differs("journal", "the turn has no records", null, null));
  const run: TurnRun = {
    journal,
    requests,
    view: reduceTurn(undefined, first),
    expected: [],
    tools: undefined,
  };
  requests.begin();
  for (let index = 1; index < records.length; index += 1) {
    const record = records[index];
    if (record === undefined) break;
    const isInCommit = run.expected.length > 0;
    const wrong = isInCommit ? takeExpected(run, record) : checkRecord(run, record, index);
    const difference = wrong ?? fold(run, record);
    if (difference !== null) return diverged(journal, index, difference);
  }
  requests.end(run.view);
  const next =
    run.view.settled === null ? propose(run.view, { boxIsReady: true, atMs: Infinity }).type : null;
  return {
    kind: "same",
    turnId,
    records: records.length,
    steps: run.view.steps.length,
    requests: requests.checked(),
    requestsUnchecked: requests.unchecked(),
    next,
  };
}

function diverged(journal: TurnJournal, index: number, difference: Difference): TurnReplay {
  const record = journal.records[index];
  return {
    kind: "diverged",
    turnId: journal.turnId,
    ordinal: index + 1,
    recordKind: record?.kind ?? "none",
    step: record !== undefined && "step" in record ? record.step : null,
    difference,
  };
}

function checkStart({ turnId, generation }: TurnJournal, first: TurnRecord): Difference | null {
  if (first.kind === "turnStarted" && first.turnId === turnId && first.generation === generation) return null;
  const recorded =
    first.kind === "turnStarted" ? { turnId: first.turnId, generation: first.generation } : first.kind;
  return differs("journal", "the journal begins otherwise", recorded, { turnId, generation });
}

function fold(run: TurnRun, record: TurnRecord): Difference | null {
  try {
    run.view = reduceTurn(run.view, record);
    return null;
  } catch (error) {
    if (!(error instanceof BoxError && error.code === "store/damaged")) throw error;
    return differs("journal", error.message, record.kind, null);
  }
}

function checkRecord(run: TurnRun, record: TurnRecord, index: number): Difference | null {
  if (run.view.settled !== null)
    return differs("journal", "a record after the turn's end", record.kind, null);
  switch (record.kind) {
    case "promptDelivered":
      return checkDelivery(run, record, index);
    case "boxReady":
    case "boxAbsent":
      return checkBox(run, record);
    case "stepPrepared":
      return checkPrepared(run, record);
    case "stepFailed":
      return checkFailed(run.view, record);
    case "stepCompleted":
      return checkCompleted(run.view, record);
    case "turnSettled":
      return checkEnd(run, record);
    // Each of these comes from outside, and folding tells whether it may stand here.
    case "turnStarted":
    case "turnResumed":
    case "interruptRequested":
      return null;
    case "callReviewed":
    case "toolIntended":
    case "toolSettled":
      return checkCall(run, record);
  }
}

function takeExpected(run: TurnRun, record: TurnRecord): Difference | null {
  const [expected, ...rest] = run.expected;
  if (expected !== undefined && isAsExpected(record, expected)) {
    run.expected = rest;
    return null;
  }
  const rule =
    expected?.kind === "turnSettled" ? "settlement" : expected?.kind === "toolSettled" ? "result" : "intent";
  return differs(rule, "another record follows in this commit", shown(record), asJson(expected ?? {}));
}

/** The first prompt comes with the turn's start; later ones join before a model call that would have come else. */
function checkDelivery(
  run: TurnRun,
  record: Extract<TurnRecord, { kind: "promptDelivered" }>,
  index: number,
): Difference | null {
  const step = index === 1 ? 1 : upcomingStep(run.view);
  if (record.beforeStep !== step)
    return differs("delivery", "the prompt joins before another step", record.beforeStep, step);
  if (index === 1) return null;
  const pending = [
    { ...record.prompt, whenBusy: "steer", digest: "", acceptedAtMs: record.atMs, turnId: null } as const,
  ];
  const effect = nextStep(run.view, { boxIsReady: true, pending, nowMs: record.atMs, prepared: null });
  return effect.type === "deliverPrompts" ? null : otherEffect("deliverPrompts", effect);
}

function checkBox(run: TurnRun, record: TurnRecord & { readonly atMs: number }): Difference | null {
  const effect = propose(run.view, { boxIsReady: false, atMs: record.atMs });
  if (effect.type !== "ensureBox") return otherEffect("ensureBox", effect);
  return record.kind === "boxReady" && run.view.boxAbsence === null
    ? differs("effect", "the box comes back that was never absent", record.kind, null)
    : null;
}

function checkPrepared(
  run: TurnRun,
  record: Extract<TurnRecord, { kind: "stepPrepared" }>,
): Difference | null {
  const effect = propose(run.view, { boxIsReady: true, atMs: record.atMs });
  const { step, attempt } = record;
  if (effect.type !== "callModel") return otherEffect("callModel", effect);
  if (effect.step !== step || effect.attempt !== attempt) {
    const replayed = { step: effect.step, attempt: effect.attempt };
    return differs("effect", "another model call comes next", { step, attempt }, replayed);
  }
  const { difference, tools } = run.requests.check(run.view, record);
  run.tools = readTools(tools);
  return difference;
}

function otherEffect(recorded: string, effect: Effect): Difference {
  const { type } = effect;
  const more =
    effect.type === "settle" ? { outcome: effect.outcome, code: effect.code, reason: effect.reason } : {};
  return differs("effect", "another effect comes next", { effect: recorded }, { effect: type, ...more });
}
