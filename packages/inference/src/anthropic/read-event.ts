/**
 * Reads one event of a messages stream, as loosely as the format's many servers write it.
 *
 * Usage stays as it was reported: input tokens don't include what the cache gave or took here, other than in chat
 * completions, and each step says which provider it came from.
 */
import type { UsageRecord } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";
import { countOf, isObject, nonBlank, objectOf, textOf } from "../json-reading.ts";

export type BlockStart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted"; readonly data: string }
  | { readonly type: "call"; readonly id: string | null; readonly name: string; readonly input: JsonObject };

export type BlockDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | { readonly type: "signature"; readonly signature: string }
  | { readonly type: "args"; readonly text: string };

export type EventReading =
  /** `message_start` and `message_delta`: what is known about the whole */
  | { readonly kind: "message"; readonly stopReason: string | null; readonly usage: Partial<UsageRecord> }
  | { readonly kind: "start"; readonly index: number; readonly block: BlockStart }
  | { readonly kind: "delta"; readonly index: number; readonly delta: BlockDelta }
  | { readonly kind: "stop"; readonly index: number }
  /** nothing but a sign of life */
  | { readonly kind: "alive" }
  | { readonly kind: "failure"; readonly error: JsonValue }
  | { readonly kind: "unknown"; readonly event: JsonValue };

export function readEvent(event: JsonValue): EventReading {
  const unknown = { kind: "unknown", event } as const;
  if (!isObject(event)) return unknown;
  const { type } = event;
  if (type === "error" || nonNull(event.error)) return { kind: "failure", error: event.error ?? event };
  if (type === "ping" || type === "message_stop") return { kind: "alive" };
  if (type === "message_start") return readMessage(objectOf(event.message), event.message);
  if (type === "message_delta") return readMessage(event, event.delta);
  const index = countOf(event.index);
  if (index === null) return unknown;
  if (type === "content_block_stop") return { kind: "stop", index };
  if (type === "content_block_start") {
    const block = readStart(objectOf(event.content_block));
    return block === undefined ? unknown : { kind: "start", index, block };
  }
  const delta = type === "content_block_delta" ? readDelta(objectOf(event.delta)) : undefined;
  return delta === undefined ? unknown : { kind: "delta", index, delta };
}

function nonNull(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

function readMessage(usageHolder: JsonObject, state: JsonValue | undefined): EventReading {
  const stopReason = nonBlank(objectOf(state).stop_reason);
  return { kind: "message", stopReason, usage: readUsage(objectOf(usageHolder.usage)) };
}

function readStart(block: JsonObject): BlockStart | undefined {
  if (block.type === "text") return { type: "text", text: textOf(block.text) };
  if (block.type === "thinking") {
    return { type: "thinking", thinking: textOf(block.thinking), signature: textOf(block.signature) };
  }
  if (block.type === "redacted_thinking") return { type: "redacted", data: textOf(block.data) };
  if (block.type !== "tool_use") return undefined;
  return {
    type: "call",
    id: nonBlank(block.id),
    name: textOf(block.name).trim(),
    input: objectOf(block.input),
  };
}

function readDelta(delta: JsonObject): BlockDelta | undefined {
  if (delta.type === "text_delta") return { type: "text", text: textOf(delta.text) };
  if (delta.type === "thinking_delta") return { type: "thinking", thinking: textOf(delta.thinking) };
  if (delta.type === "signature_delta") return { type: "signature", signature: textOf(delta.signature) };
  return delta.type === "input_json_delta" ? { type: "args", text: textOf(delta.partial_json) } : undefined;
}

/** Only what this event reports: counts come in two events, and the later ones replace the earlier. */
function readUsage(usage: JsonObject): Partial<UsageRecord> {
  const counts = {
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    cacheReadTokens: countOf(usage.cache_read_input_tokens),
    cacheWriteTokens: countOf(usage.cache_creation_input_tokens),
    reasoningTokens: countOf(objectOf(usage.output_tokens_details).thinking_tokens),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== null));
}
