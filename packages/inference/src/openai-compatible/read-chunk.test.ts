import type { JsonValue } from "@sand/protocol";
import { expect, test } from "vitest";
import { readChunk } from "./read-chunk.ts";

const nothing = {
  kind: "delta",
  text: "",
  reasoning: { field: null, text: "", details: [] },
  calls: [],
  finish: null,
  refused: false,
  usage: null,
};

const withDelta = (delta: JsonValue): JsonValue => ({ choices: [{ index: 0, delta }] });

test.each<readonly [string, JsonValue, object]>([
  ["text", withDelta({ content: "hi" }), { text: "hi" }],
  ["no content", withDelta({ content: null }), {}],
  ["no delta", { choices: [{ index: 0 }] }, {}],
  ["no choice", { choices: [] }, {}],
  [
    "content blocks",
    withDelta({ content: [{ type: "text", text: "a" }, { type: "x" }, { type: "text", text: "b" }] }),
    { text: "ab" },
  ],
  [
    "thinking blocks",
    withDelta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
    { reasoning: { field: null, text: "hm", details: [] } },
  ],
  ["a refusal", withDelta({ refusal: "no" }), { text: "no", refused: true }],
  ["a refusal of a wrong type", withDelta({ refusal: false }), {}],
  ["reasoning", withDelta({ reasoning: "r" }), { reasoning: { field: "reasoning", text: "r", details: [] } }],
  ["a finish", { choices: [{ delta: {}, finish_reason: "stop" }] }, { finish: "stop" }],
  ["a blank finish", { choices: [{ delta: {}, finish_reason: "" }] }, {}],
  [
    "a call with everything",
    withDelta({ tool_calls: [{ index: 1, id: "c", function: { name: "n", arguments: "{" } }] }),
    { calls: [{ index: 1, id: "c", name: "n", args: "{" }] },
  ],
  [
    "a call with nothing",
    withDelta({ tool_calls: [{}] }),
    { calls: [{ index: null, id: null, name: null, args: "" }] },
  ],
  [
    "arguments as an object",
    withDelta({ tool_calls: [{ function: { name: "n", arguments: { a: 1 } } }] }),
    { calls: [{ index: null, id: null, name: "n", args: '{"a":1}' }] },
  ],
  [
    "usage",
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: "2", prompt_tokens_details: null } },
    {
      usage: {
        inputTokens: 1,
        outputTokens: null,
        cacheReadTokens: null,
        cacheWriteTokens: null,
        reasoningTokens: null,
      },
    },
  ],
])("%s", (_name, chunk, expected) => {
  expect(readChunk(chunk)).toEqual({ ...nothing, ...expected });
});

test.each<readonly [JsonValue, string]>([
  [{ error: { message: "x" } }, "failure"],
  [{ error: "x", choices: [] }, "failure"],
  [{ choices: [{ error: { code: 502 } }] }, "failure"],
  [{ error: null, choices: [] }, "delta"],
  [{ type: "ping" }, "unknown"],
  [null, "unknown"],
  [[1], "unknown"],
  [withDelta({ tool_calls: "x" }), "malformed"],
])("%j is a %s", (chunk, kind) => {
  expect(readChunk(chunk).kind).toBe(kind);
});
