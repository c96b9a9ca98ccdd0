import type { JsonValue } from "@sand/protocol";
import { expect, test } from "vitest";
import { type EventReading, readEvent } from "./read-event.ts";

const at = (index: JsonValue, fields: { readonly [name: string]: JsonValue }) => ({ index, ...fields });

test.each<readonly [JsonValue, EventReading]>([
  [{ type: "ping" }, { kind: "alive" }],
  [{ type: "message_stop" }, { kind: "alive" }],
  [
    {
      type: "message_start",
      message: { usage: { input_tokens: 7, cache_read_input_tokens: 5, cache_creation_input_tokens: 0 } },
    },
    { kind: "message", stopReason: null, usage: { inputTokens: 7, cacheReadTokens: 5, cacheWriteTokens: 0 } },
  ],
  [{ type: "message_start" }, { kind: "message", stopReason: null, usage: {} }],
  [
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use" },
      usage: { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } },
    },
    { kind: "message", stopReason: "tool_use", usage: { outputTokens: 9, reasoningTokens: 4 } },
  ],
  [
    at(0, { type: "content_block_start", content_block: { type: "text", text: "" } }),
    { kind: "start", index: 0, block: { type: "text", text: "" } },
  ],
  [
    at(1, { type: "content_block_start", content_block: { type: "tool_use", name: "Shell", input: {} } }),
    { kind: "start", index: 1, block: { type: "call", id: null, name: "Shell", input: {} } },
  ],
  [
    at(2, { type: "content_block_start", content_block: { type: "redacted_thinking", data: "x" } }),
    { kind: "start", index: 2, block: { type: "redacted", data: "x" } },
  ],
  [
    at(3, { type: "content_block_start", content_block: { type: "thinking" } }),
    { kind: "start", index: 3, block: { type: "thinking", thinking: "", signature: "" } },
  ],
  [
    at(3, { type: "content_block_delta", delta: { type: "signature_delta", signature: "s" } }),
    { kind: "delta", index: 3, delta: { type: "signature", signature: "s" } },
  ],
  [
    at(1, { type: "content_block_delta", delta: { type: "input_json_delta", partial_json: '{"a' } }),
    { kind: "delta", index: 1, delta: { type: "args", text: '{"a' } },
  ],
  [at(1, { type: "content_block_stop" }), { kind: "stop", index: 1 }],
  [
    { type: "error", error: { type: "overloaded_error" } },
    { kind: "failure", error: { type: "overloaded_error" } },
  ],
  [{ type: "error" }, { kind: "failure", error: { type: "error" } }],
  [{ error: "no" }, { kind: "failure", error: "no" }],
])("%j reads as %j", (event, reading) => {
  expect(readEvent(event)).toEqual(reading);
});

test.each<JsonValue>([
  null,
  7,
  "text",
  [],
  {},
  { type: "hologram" },
  at("0", { type: "content_block_stop" }),
  at(0, { type: "content_block_start", content_block: { type: "hologram" } }),
  at(0, { type: "content_block_start" }),
  at(0, { type: "content_block_delta", delta: { type: "citations_delta" } }),
])("%j is unknown and no failure", (event) => {
  expect(readEvent(event)).toEqual({ kind: "unknown", event });
});
