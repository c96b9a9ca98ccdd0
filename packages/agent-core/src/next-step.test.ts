import { expect, test } from "vitest";
import {
  callIdOf,
  completed,
  delivered,
  failed,
  intended,
  pendingPrompt,
  prepared,
  settledCall,
  started,
} from "../test/turn-fixture.ts";
import { turnLimits } from "./limits.ts";
import { type Effect, nextOpeningPrompt, nextStep, type TurnSurroundings } from "./next-step.ts";
import type { TurnRecord } from "./turn-records.ts";
import { reduceTurnRecords } from "./turn-view.ts";

const ready: TurnSurroundings = { boxIsReady: true, pending: [], nowMs: 1_000, prepared: null };

function effectAfter(records: readonly TurnRecord[], surroundings: Partial<TurnSurroundings> = {}): Effect {
  const view = reduceTurnRecords([started(), delivered("a"), ...records]);
  if (view === undefined) throw new Error("no turn");
  return nextStep(view, { ...ready, ...surroundings });
}

function kindAfter(records: readonly TurnRecord[], surroundings: Partial<TurnSurroundings> = {}): string {
  const effect = effectAfter(records, surroundings);
  if (effect.type === "settle") return `settle:${effect.outcome}:${effect.code ?? "-"}`;
  return effect.type === "callModel" ? `callModel:${effect.step}.${effect.attempt}` : effect.type;
}

const interrupted: TurnRecord = { kind: "interruptRequested", by: "user", atMs: 0 };
const absent: TurnRecord = { kind: "boxAbsent", code: "box/unavailable", reason: "gone", atMs: 0 };
const calls = [prepared(1), completed(1, { calls: ["Shell", "ReadFile"] })];

const table: readonly [string, readonly TurnRecord[], Partial<TurnSurroundings>, string][] = [
  ["a fresh turn makes sure of its box first", [], { boxIsReady: false }, "ensureBox"],
  ["a fresh turn calls the model", [], {}, "callModel:1.1"],
  ["a model call that a crash cut off is made again as another attempt", [prepared(1)], {}, "callModel:1.2"],
  [
    "a model call whose intent this run has committed just now is that attempt",
    [prepared(1)],
    { prepared: { step: 1, attempt: 1 } },
    "callModel:1.1",
  ],
  [
    "an intent of another attempt isn't taken for it",
    [prepared(1)],
    { prepared: { step: 1, attempt: 2 } },
    "callModel:1.2",
  ],
  ["a failed call waits for its time", [prepared(1), failed(1, 5_000)], {}, "waitToRetry"],
  ["a failed call is made again when its time has come", [prepared(1), failed(1, 900)], {}, "callModel:1.2"],
  [
    "a failure without another try ends the turn with its code",
    [prepared(1), failed(1, null)],
    {},
    "settle:error:inference/overloaded",
  ],
  ["only a finished step starts tools", calls, {}, "runCalls"],
  ["calls wait for the box", calls, { boxIsReady: false }, "ensureBox"],
  [
    "calls under way go on when some have settled",
    [...calls, intended(1, 0), settledCall(1, 0)],
    {},
    "runCalls",
  ],
  [
    "settled calls lead to the next model call",
    [...calls, settledCall(1, 0), settledCall(1, 1)],
    {},
    "callModel:2.1",
  ],
  [
    "calls of a cut-off answer are refused",
    [prepared(1), completed(1, { calls: ["Shell"], finish: "length" })],
    {},
    "refuseCalls",
  ],
  [
    "calls of a filtered answer are refused",
    [prepared(1), completed(1, { calls: ["Shell"], finish: "content-filter" })],
    {},
    "refuseCalls",
  ],
  ["an answer ends the turn", [prepared(1), completed(1, { text: "hi" })], {}, "settle:success:-"],
  ["an interrupted turn without calls ends", [prepared(1), interrupted], {}, "settle:aborted:-"],
  [
    "an interrupted turn stops the calls that it began",
    [...calls, intended(1, 0), interrupted],
    {},
    "stopCalls",
  ],
  ["calls that were never begun need no stopping", [...calls, interrupted], {}, "settle:aborted:-"],
  [
    "an interrupted turn looks for the box before it stops calls",
    [...calls, intended(1, 0), interrupted],
    { boxIsReady: false },
    "ensureBox",
  ],
  [
    "an interrupted turn ends without the box when it stays away",
    [...calls, intended(1, 0), interrupted, absent, absent],
    { boxIsReady: false },
    "settle:aborted:-",
  ],
  [
    "a turn without a box ends with the box's code",
    [absent, absent],
    { boxIsReady: false },
    "settle:error:box/unavailable",
  ],
  [
    "calls under way wait longer for the box",
    [...calls, intended(1, 0), absent, absent],
    { boxIsReady: false },
    "ensureBox",
  ],
  [
    "a steering prompt joins at the step boundary",
    [...calls, settledCall(1, 0), settledCall(1, 1)],
    { pending: [pendingPrompt("b")] },
    "deliverPrompts",
  ],
  [
    "a prompt that asked to wait does not join",
    [...calls, settledCall(1, 0), settledCall(1, 1)],
    { pending: [pendingPrompt("b", "queue")] },
    "callModel:2.1",
  ],
  ["no prompt joins while calls are open", calls, { pending: [pendingPrompt("b")] }, "runCalls"],
];

test.each(table)("%s", (_rule, records, surroundings, expected) => {
  expect(kindAfter(records, surroundings)).toBe(expected);
});

test("a step with too many calls runs none of them", () => {
  const names = Array.from({ length: turnLimits.callsPerStepMax + 1 }, () => "Shell");
  expect(kindAfter([prepared(1), completed(1, { calls: names })])).toBe("refuseCalls");
  expect(kindAfter([prepared(1), completed(1, { calls: names.slice(1) })])).toBe("runCalls");
});

test("a turn that no start of the host gets any further is ended", () => {
  const resumed: TurnRecord = { kind: "turnResumed", bootId: "b", atMs: 0 };
  const many = Array.from({ length: turnLimits.resumesWithoutProgressMax + 1 }, () => resumed);
  expect(kindAfter(many)).toBe("settle:error:turn/resume-exhausted");
  expect(kindAfter([...many, prepared(1), completed(1, { calls: ["Shell"] })])).toBe("runCalls");
});

/** a step whose one call was refused without being begun */
const refusedStep = (step: number, name: string): readonly TurnRecord[] => [
  prepared(step),
  completed(step, { calls: [name] }),
  settledCall(step, 0, "error"),
];

test("the same calls refused three times in a row end the turn", () => {
  const twice = [...refusedStep(1, "Nope"), ...refusedStep(2, "Nope")];
  expect(kindAfter(twice)).toBe("callModel:3.1");
  expect(kindAfter([...twice, ...refusedStep(3, "Nope")])).toBe("settle:error:turn/no-progress");
  expect(kindAfter([...twice, ...refusedStep(3, "Other")])).toBe("callModel:4.1");
});

test("a call that ran and failed is no circle, and a prompt that joined lets the model try again", () => {
  const ran = [1, 2, 3].flatMap((step) => [
    prepared(step),
    completed(step, { calls: ["Shell"] }),
    intended(step, 0),
    settledCall(step, 0, "error"),
  ]);
  expect(kindAfter(ran)).toBe("callModel:4.1");
  const circle = [1, 2, 3].flatMap((step) => refusedStep(step, "Nope"));
  expect(kindAfter([...circle, delivered("b", 4)])).toBe("callModel:4.1");
});

test("ten steps in a row of which nothing could be run end the turn, though each asked for something else", () => {
  const different = Array.from({ length: 10 }, (_, index) => refusedStep(index + 1, `No${index}`));
  expect(kindAfter(different.slice(0, 9).flat())).toBe("callModel:10.1");
  expect(kindAfter(different.flat())).toBe("settle:error:turn/no-progress");
});

test("a settled turn has nothing to do", () => {
  expect(kindAfter([{ kind: "turnSettled", outcome: "success", code: null, reason: null, atMs: 0 }])).toBe(
    "done",
  );
});

test("a superseding prompt opens the next turn before older ones, else the oldest does", () => {
  const [a, b] = [pendingPrompt("a", "queue"), pendingPrompt("b", "interrupt")];
  expect(nextOpeningPrompt([a, b])).toBe(b);
  expect(nextOpeningPrompt([a])).toBe(a);
  expect(nextOpeningPrompt([])).toBeUndefined();
});

const contradictions: readonly [string, readonly TurnRecord[]][] = [
  ["a record before the start", [prepared(1)]],
  ["two starts", [started(), started()]],
  ["a step that skips one", [started(), prepared(2)]],
  ["two results of one call", [started(), ...calls, settledCall(1, 0), settledCall(1, 0)]],
  ["an intent after the result", [started(), ...calls, settledCall(1, 0), intended(1, 0)]],
  ["a call of no step", [started(), settledCall(3, 0)]],
];

test("INV-7: contradicting records are refused, never repaired", () => {
  for (const [what, records] of contradictions) {
    const fold = () => reduceTurnRecords(records);
    expect(fold, what).toThrowError(expect.objectContaining({ code: "store/damaged" }));
  }
});

test("folding the records one by one and all at once is the same", () => {
  const view = reduceTurnRecords([started(), delivered("a"), ...calls, intended(1, 1), settledCall(1, 1)]);
  expect(
    view?.steps[0]?.calls.map((call) => [
      call.call.callId,
      call.intent?.executionId ?? null,
      call.result?.outcome ?? null,
    ]),
  ).toEqual([
    [callIdOf(1, 0), null, null],
    [callIdOf(1, 1), "ex-1-1", "ok"],
  ]);
});
