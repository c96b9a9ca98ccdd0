import type { JsonObject } from "@sand/protocol";
import { expect, test } from "vitest";
import { findCacheBreaches, findReasoningBreaches } from "./check-reasoning.ts";
import { sealReasoning, signThinking } from "./sign-reasoning.ts";
import { viewMessages } from "./view-request.ts";

const thinking = { type: "thinking", thinking: "hm", signature: signThinking("hm", "m") };
const redacted = { type: "redacted_thinking", data: sealReasoning("secret", "m") };
const use = { type: "tool_use", id: "a", name: "Shell", input: {} };
const mark = { cache_control: { type: "ephemeral" } };

function bodyWith(blocks: readonly JsonObject[], rest: JsonObject = {}): JsonObject {
  return { model: "m", max_tokens: 4_000, messages: [{ role: "assistant", content: blocks }], ...rest };
}

function breachesOf(body: JsonObject): readonly string[] {
  const messages = viewMessages(body);
  return [...findReasoningBreaches(body, messages), ...findCacheBreaches(body, messages)];
}

const on = { thinking: { type: "enabled", budget_tokens: 2_000 } };

test("reasoning that comes back unchanged before its calls is accepted", () => {
  expect(breachesOf(bodyWith([thinking, redacted, use], on))).toEqual([]);
  expect(breachesOf(bodyWith([use]))).toEqual([]);
});

test.each<readonly [string, JsonObject, RegExp]>([
  ["a changed text", bodyWith([{ ...thinking, thinking: "ha" }]), /Invalid `signature` in `thinking`/u],
  ["a changed signature", bodyWith([{ ...thinking, signature: "x" }]), /Invalid `signature`/u],
  ["another model", bodyWith([thinking], { model: "n" }), /Invalid `signature`/u],
  ["changed opaque data", bodyWith([{ ...redacted, data: `x${redacted.data}` }]), /`redacted_thinking`/u],
  ["reasoning behind a call", bodyWith([use, thinking]), /behind a call/u],
  ["open calls without their reasoning while thinking is on", bodyWith([use], on), /Expected `thinking`/u],
  ["a budget beyond the answer", bodyWith([thinking], { ...on, max_tokens: 2_000 }), /budget/u],
  ["a mark on reasoning", bodyWith([{ ...thinking, ...mark }]), /mark of the prompt cache on reasoning/u],
  ["five marks", bodyWith([1, 2, 3, 4, 5].map(() => ({ type: "text", text: "t", ...mark }))), /5 marks/u],
])("%s is a breach", (_name, body, breach) => {
  expect(breachesOf(body)).toEqual([expect.stringMatching(breach)]);
});
