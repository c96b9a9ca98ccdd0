import type { JsonValue } from "@sand/protocol";
import { expect, test } from "vitest";
import { classifyFailure } from "./classify-failure.ts";

test.each<readonly [number | null, JsonValue, string, boolean]>([
  [400, {}, "inference/refused", false],
  [401, {}, "inference/unauthorized", false],
  [402, {}, "inference/refused", false],
  [403, {}, "inference/unauthorized", false],
  [408, {}, "inference/timeout", true],
  [409, {}, "inference/unavailable", true],
  [413, {}, "inference/refused", false],
  [422, {}, "inference/refused", false],
  [429, {}, "inference/rate-limited", true],
  [429, { code: "insufficient_quota" }, "inference/refused", false],
  [500, {}, "inference/unavailable", true],
  [500, { type: "overloaded_error" }, "inference/overloaded", true],
  [502, {}, "inference/unavailable", true],
  [504, {}, "inference/timeout", true],
  [529, {}, "inference/overloaded", true],
  [null, { type: "rate_limit_error" }, "inference/rate-limited", true],
  [null, { type: "authentication_error" }, "inference/unauthorized", false],
  [null, { type: "invalid_request_error" }, "inference/refused", false],
  [null, { code: 429 }, "inference/rate-limited", true],
  [null, { code: "529" }, "inference/overloaded", true],
  [null, { code: 0 }, "inference/unavailable", true],
  [null, { code: "timeout" }, "inference/timeout", true],
  [null, "boom", "inference/unavailable", true],
  [null, {}, "inference/unavailable", true],
])("status %j with %j is %s", (status, error, code, retryable) => {
  expect(classifyFailure({ status, error, retryAfterMs: null, sentReasoning: false })).toMatchObject({
    type: "error",
    code,
    retryable,
  });
});

test("the provider's words are passed on in one short line", () => {
  const error = { message: `a\n  b\0${"x".repeat(1_000)}` };
  const { message } = classifyFailure({ status: 400, error, retryAfterMs: null, sentReasoning: false });
  expect(message).toMatch(/^the model provider answered 400: a b\ufffdx+$/u);
  expect(message.length).toBeLessThan(350);
});

test("a refused credential is told without the provider's words", () => {
  const error = { message: "Incorrect API key: sk-abcd" };
  expect(
    classifyFailure({ status: 401, error, retryAfterMs: null, sentReasoning: false }).message,
  ).not.toContain("sk-abcd");
});
