import { expect, test } from "vitest";
import { pendingPrompt } from "../test/turn-fixture.ts";
import { createStepCollector } from "./collect-step.ts";
import { decideAcceptance } from "./decide-acceptance.ts";
import { turnLimits } from "./limits.ts";
import type { ModelPart } from "./model-port.ts";
import { planRetry } from "./plan-retry.ts";

const usage = {
  inputTokens: 1,
  outputTokens: 1,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

test("INV-4: a nonce is fresh once, repeats with its payload, and conflicts with another", () => {
  const row = pendingPrompt("a");
  expect(decideAcceptance(undefined, "a")).toEqual({ kind: "fresh" });
  expect(decideAcceptance(row, "a")).toEqual({ kind: "repeated", row });
  expect(decideAcceptance(row, "b")).toEqual({ kind: "conflict", row });
});

function collect(parts: readonly ModelPart[]) {
  const collector = createStepCollector();
  for (const part of parts) collector.add(part);
  return collector.result();
}

const text: ModelPart = { type: "text-delta", text: "hi" };
const call: ModelPart = { type: "tool-call", providerCallId: "c1", name: "Shell", argsText: "{}" };

test("INV-8: a stream without a finish is incomplete, whatever came before", () => {
  for (const parts of [[], [text], [text, call]]) {
    expect(collect(parts)).toMatchObject({ kind: "failed", code: "inference/incomplete", retryable: true });
  }
});

test("a finish for other reasons counts only with content", () => {
  const finish: ModelPart = { type: "finish", finish: "other", usage };
  expect(collect([finish]).kind).toBe("failed");
  expect(collect([text, finish])).toMatchObject({ kind: "completed", text: "hi" });
});

test("an error after content fails the step", () => {
  const error: ModelPart = {
    type: "error",
    code: "inference/overloaded",
    message: "busy",
    retryable: true,
    retryAfterMs: 7,
  };
  expect(collect([text, error])).toEqual({
    kind: "failed",
    code: "inference/overloaded",
    message: "busy",
    retryable: true,
    retryAfterMs: 7,
  });
});

test("a step keeps one call more than the limit at most, so that too many can be told", () => {
  const parts = Array.from({ length: turnLimits.callsPerStepMax + 5 }, () => call);
  const collected = collect([...parts, { type: "finish", finish: "tool-calls", usage }]);
  expect(collected.kind === "completed" ? collected.calls.length : 0).toBe(turnLimits.callsPerStepMax + 1);
});

test("a retry waits longer each time, honours the provider's wish up to the cap, and ends", () => {
  const failure = { retryable: true, retryAfterMs: null };
  expect(planRetry({ ...failure, earlierFailures: 0 }, 100)).toBe(100 + turnLimits.retryBaseMs);
  expect(planRetry({ ...failure, earlierFailures: 2 }, 100)).toBe(100 + turnLimits.retryBaseMs * 4);
  expect(planRetry({ ...failure, retryAfterMs: 5_000, earlierFailures: 0 }, 0)).toBe(5_000);
  expect(planRetry({ ...failure, retryAfterMs: 10 ** 9, earlierFailures: 0 }, 0)).toBe(turnLimits.retryMaxMs);
  expect(planRetry({ ...failure, earlierFailures: turnLimits.modelFailuresMax - 1 }, 0)).toBeNull();
  expect(planRetry({ retryable: false, retryAfterMs: null, earlierFailures: 0 }, 0)).toBeNull();
});
