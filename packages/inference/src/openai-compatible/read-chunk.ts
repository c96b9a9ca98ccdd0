/**
 * Reads one chunk of a chat completions stream, as loosely as providers write them.
 *
 * We read the raw chunks ourselves and don't take the library's parts: it drops argument text that it can't assign,
 * mints random ids, rejects chunks of an unknown kind, and turns a failure inside the stream into a good end when a
 * finish reason follows.
 */
import type { UsageRecord } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";
import { countOf, isObject, listOf, nonBlank, objectOf, textOf } from "../json-reading.ts";

export interface CallDelta {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly args: string;
}

export interface ReasoningDelta {
  /** the field in which the provider sent it and wants it back */
  readonly field: "reasoning_content" | "reasoning" | null;
  readonly text: string;
  /** opaque blocks with signatures, in order */
  readonly details: readonly JsonValue[];
}

export type ChunkReading =
  | {
      readonly kind: "delta";
      readonly text: string;
      readonly reasoning: ReasoningDelta;
      readonly calls: readonly CallDelta[];
      readonly finish: string | null;
      readonly refused: boolean;
      readonly usage: UsageRecord | null;
    }
  | { readonly kind: "failure"; readonly error: JsonValue }
  | { readonly kind: "unknown"; readonly chunk: JsonValue }
  | { readonly kind: "malformed"; readonly what: string };

export function readChunk(chunk: JsonValue): ChunkReading {
  if (!isObject(chunk)) return { kind: "unknown", chunk };
  if (chunk.error !== undefined && chunk.error !== null) return { kind: "failure", error: chunk.error };
  if (!Array.isArray(chunk.choices)) return { kind: "unknown", chunk };
  const choice = objectOf(chunk.choices[0]);
  // OpenRouter and others report a failure inside the choice.
  if (isObject(choice.error)) return { kind: "failure", error: choice.error };
  const delta = objectOf(choice.delta);
  const calls = delta.tool_calls;
  if (calls !== undefined && calls !== null && !Array.isArray(calls)) {
    return { kind: "malformed", what: "tool_calls is no list" };
  }
  const content = readContent(delta.content);
  const refusal = textOf(delta.refusal);
  return {
    kind: "delta",
    text: content.text + refusal,
    reasoning: readReasoning(delta, content.thinking),
    calls: listOf(calls).map(readCall),
    finish: nonBlank(choice.finish_reason),
    refused: refusal !== "",
    usage: readUsage(chunk.usage),
  };
}

function readContent(content: JsonValue | undefined): { readonly text: string; readonly thinking: string } {
  if (typeof content === "string") return { text: content, thinking: "" };
  const blocks = listOf(content).map(objectOf);
  const textBlocks = blocks.filter((block) => block.type === "text");
  const thinkingBlocks = blocks.filter((block) => block.type === "thinking");
  return {
    text: textBlocks.map((block) => textOf(block.text)).join(""),
    thinking: thinkingBlocks
      .flatMap((block) =>
        typeof block.thinking === "string" ? [block.thinking] : listOf(block.thinking).map(innerText),
      )
      .join(""),
  };
}

function innerText(value: JsonValue): string {
  return textOf(objectOf(value).text);
}

function readReasoning(delta: JsonObject, thinking: string): ReasoningDelta {
  const details = listOf(delta.reasoning_details);
  if (typeof delta.reasoning_content === "string") {
    return { field: "reasoning_content", text: delta.reasoning_content + thinking, details };
  }
  if (typeof delta.reasoning === "string")
    return { field: "reasoning", text: delta.reasoning + thinking, details };
  return { field: null, text: thinking, details };
}

function readCall(value: JsonValue): CallDelta {
  const call = objectOf(value);
  const fn = objectOf(call.function);
  const args = fn.arguments;
  return {
    index: typeof call.index === "number" ? call.index : null,
    id: nonBlank(call.id),
    name: nonBlank(fn.name),
    // A few servers send the arguments as an object and not as its text.
    args: isObject(args) ? JSON.stringify(args) : textOf(args),
  };
}

function readUsage(value: JsonValue | undefined): UsageRecord | null {
  if (!isObject(value)) return null;
  const prompt = objectOf(value.prompt_tokens_details);
  const completion = objectOf(value.completion_tokens_details);
  return {
    inputTokens: countOf(value.prompt_tokens),
    outputTokens: countOf(value.completion_tokens),
    cacheReadTokens: countOf(prompt.cached_tokens) ?? countOf(value.prompt_cache_hit_tokens),
    cacheWriteTokens: countOf(prompt.cache_write_tokens),
    reasoningTokens: countOf(completion.reasoning_tokens),
  };
}
