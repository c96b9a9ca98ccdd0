import type { ModelPart } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { expect, test } from "vitest";
import { streamLimits } from "../limits.ts";
import { createMessageAssembly } from "./assemble-message.ts";

const start = (index: number, block: JsonObject) => ({
  type: "content_block_start",
  index,
  content_block: block,
});
const delta = (index: number, fields: JsonObject) => ({ type: "content_block_delta", index, delta: fields });
const stop = (index: number) => ({ type: "content_block_stop", index });
const end = (reason: string) => ({ type: "message_delta", delta: { stop_reason: reason } });
const text = (index: number, words: string) => [
  start(index, { type: "text", text: "" }),
  delta(index, { type: "text_delta", text: words }),
  stop(index),
];
const thinking = (index: number, words: string) => [
  start(index, { type: "thinking", thinking: "", signature: "" }),
  delta(index, { type: "thinking_delta", thinking: words }),
  delta(index, { type: "signature_delta", signature: `signed ${words}` }),
  stop(index),
];
const call = (index: number, id: string) => [
  start(index, { type: "tool_use", id, name: "Shell", input: {} }),
  delta(index, { type: "input_json_delta", partial_json: '{"a"' }),
  delta(index, { type: "input_json_delta", partial_json: ":1}" }),
  stop(index),
];

function assemble(events: readonly JsonObject[]): readonly ModelPart[] {
  const assembly = createMessageAssembly(streamLimits, { baseUrl: "http://a/v1", sentReasoning: false });
  return [...events.flatMap((event) => assembly.accept(event)), ...assembly.end()];
}

function rawOf(parts: readonly ModelPart[]): JsonObject | undefined {
  return parts.find((part) => part.type === "raw")?.part;
}

test("reasoning is kept whole with its place among texts and calls", () => {
  const parts = assemble([
    ...thinking(0, "one"),
    ...text(1, "Hello"),
    start(2, { type: "redacted_thinking", data: "sealed" }),
    stop(2),
    ...call(3, "a"),
    ...thinking(4, "two"),
    ...call(5, "b"),
    end("tool_use"),
  ]);
  expect(rawOf(parts)).toEqual({
    type: "reasoning",
    origin: "http://a/v1",
    blocks: [
      { type: "thinking", thinking: "one", signature: "signed one" },
      { type: "text", chars: 5 },
      { type: "redacted_thinking", data: "sealed" },
      { type: "call" },
      { type: "thinking", thinking: "two", signature: "signed two" },
      { type: "call" },
    ],
  });
  expect(parts.map((part) => part.type)).toEqual([
    "reasoning-delta",
    "text-delta",
    "reasoning-delta",
    "raw",
    "tool-call",
    "tool-call",
    "finish",
  ]);
});

test("blocks whose pieces come mixed are told apart by their index", () => {
  const [startA, ...restA] = call(0, "a");
  const [startB, ...restB] = call(1, "b");
  const mixed = [startA, startB, ...restA.flatMap((event, at) => [event, restB[at]]), end("tool_use")];
  const parts = assemble(mixed.filter((event) => event !== undefined));
  expect(parts.filter((part) => part.type === "tool-call")).toEqual(
    ["a", "b"].map((providerCallId) => ({
      type: "tool-call",
      providerCallId,
      name: "Shell",
      argsText: '{"a":1}',
    })),
  );
});

test("a call whose input came with its beginning keeps it, and pieces win over it", () => {
  const input = { command: "ls" };
  const parts = assemble([
    start(0, { type: "tool_use", id: "a", name: "Shell", input }),
    stop(0),
    start(1, { type: "tool_use", id: "b", name: "Shell", input }),
    delta(1, { type: "input_json_delta", partial_json: "{" }),
    stop(1),
    end("tool_use"),
  ]);
  expect(parts.flatMap((part) => (part.type === "tool-call" ? [part.argsText] : []))).toEqual([
    '{"command":"ls"}',
    "{",
  ]);
});

test("a block of reasoning that was never signed isn't kept, since it can't go back", () => {
  const parts = assemble([
    start(0, { type: "thinking", thinking: "cut" }),
    ...text(1, "x"),
    end("max_tokens"),
  ]);
  expect(parts).toEqual([
    { type: "reasoning-delta", text: "cut" },
    { type: "text-delta", text: "x" },
    expect.objectContaining({ type: "finish", finish: "length" }),
  ]);
});

test("a piece of a call that never began is malformed", () => {
  const [part] = assemble([delta(3, { type: "input_json_delta", partial_json: "{}" })]);
  expect(part).toMatchObject({ type: "error", code: "inference/malformed" });
});

test("text without its beginning is text all the same", () => {
  const parts = assemble([delta(0, { type: "text_delta", text: "hi" }), end("end_turn")]);
  expect(parts.map((part) => part.type)).toEqual(["text-delta", "finish"]);
});

test.each([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content-filter"],
  ["pause_turn", "other"],
])("the stop reason %s ends a step with text as %s", (reason, finish) => {
  expect(assemble([...text(0, "x"), end(reason)]).at(-1)).toMatchObject({ type: "finish", finish });
});

test("neither the head of a message nor a ping is its first token", () => {
  const assembly = createMessageAssembly(streamLimits, { baseUrl: "http://a/v1", sentReasoning: false });
  const begun = [
    { type: "message_start", message: { usage: { input_tokens: 1 } } },
    { type: "ping" },
    start(0, { type: "thinking", thinking: "" }),
  ].map((event) => {
    assembly.accept(event);
    return assembly.begun;
  });
  expect(begun).toEqual([false, false, true]);
});
