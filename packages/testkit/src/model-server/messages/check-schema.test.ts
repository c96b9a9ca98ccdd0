import { expect, test } from "vitest";
import { createSchemaCheck } from "./check-schema.ts";

const check = createSchemaCheck();
const request = { model: "m", max_tokens: 1, stream: true, messages: [{ role: "user", content: "hi" }] };

test("a request as the SDK's types describe it is accepted", () => {
  expect(check(request)).toEqual([]);
  expect(check({ ...request, system: [{ type: "text", text: "s" }], stop_sequences: ["x"] })).toEqual([]);
});

test.each([
  ["no max_tokens", { model: "m", stream: true, messages: [] }],
  ["a field of the other format", { ...request, stream_options: { include_usage: true } }],
  ["a temperature, which the newer models refuse", { ...request, temperature: 0.5 }],
  ["a wrong type", { ...request, max_tokens: "many" }],
  ["a tool message", { ...request, messages: [{ role: "tool", content: "x" }] }],
  ["a thinking block without its signature", withBlock({ type: "thinking", thinking: "hm" })],
  ["a result without its call's id", withBlock({ type: "tool_result", content: "x" })],
])("%s is a breach", (_name, body) => {
  expect(check(body).length).toBeGreaterThan(0);
});

function withBlock(block: { readonly [name: string]: string }) {
  return { ...request, messages: [{ role: "assistant", content: [block] }] };
}
