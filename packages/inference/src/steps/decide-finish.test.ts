import { expect, test } from "vitest";
import { decideFinish, type FinishVerdict } from "./decide-finish.ts";

const empty = { refused: false, hasText: false, calls: [] };
const text = { ...empty, hasText: true };
const call = { ...empty, calls: [{ name: "Shell" }] };

function shown(verdict: FinishVerdict): string {
  return verdict.kind === "finish" ? verdict.finish : verdict.part.code;
}

test.each([
  [null, text, "inference/incomplete"],
  [null, call, "inference/incomplete"],
  ["stop", text, "stop"],
  ["stop", empty, "stop"],
  ["stop", call, "tool-calls"],
  ["stop", { ...text, refused: true }, "content-filter"],
  ["end_turn", text, "stop"],
  ["tool_calls", call, "tool-calls"],
  ["tool_use", call, "tool-calls"],
  ["tool_calls", text, "inference/incomplete"],
  ["length", call, "length"],
  ["length", empty, "length"],
  ["content_filter", empty, "content-filter"],
  ["error", text, "inference/unavailable"],
  ["something new", text, "other"],
  ["something new", call, "other"],
  ["something new", empty, "inference/incomplete"],
  ["tool_calls", { ...empty, calls: [{ name: "" }] }, "inference/malformed"],
] as const)("the reason %j with %j is %s", (reason, content, expected) => {
  expect(shown(decideFinish(reason, content))).toBe(expected);
});
