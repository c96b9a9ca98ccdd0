import { expect, test } from "vitest";
import { createSchemaCheck } from "./check-schema.ts";

const check = createSchemaCheck();
const request = { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] };

test("a request as the SDK's types describe it is accepted", () => {
  expect(check(request)).toEqual([]);
  expect(check({ ...request, temperature: 0.5, stream_options: { include_usage: true } })).toEqual([]);
});

test("the reasoning that providers take back is accepted on an assistant message only", () => {
  const assistant = { role: "assistant", content: "a", reasoning_content: "r" };
  expect(check({ ...request, messages: [assistant] })).toEqual([]);
  expect(
    check({ ...request, messages: [{ role: "user", content: "a", reasoning_content: "r" }] }),
  ).not.toEqual([]);
});

test.each([
  ["no model", { stream: true, messages: [] }],
  ["a field of our own", { ...request, nonce: 1 }],
  ["a wrong type", { ...request, temperature: "hot" }],
  ["a wrong role", { ...request, messages: [{ role: "robot", content: "x" }] }],
  ["a tool message without its call's id", { ...request, messages: [{ role: "tool", content: "x" }] }],
  [
    "arguments that are no text",
    {
      ...request,
      messages: [
        {
          role: "assistant",
          tool_calls: [{ id: "a", type: "function", function: { name: "n", arguments: {} } }],
        },
      ],
    },
  ],
])("%s is a breach", (_name, body) => {
  expect(check(body).length).toBeGreaterThan(0);
});
