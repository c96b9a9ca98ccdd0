/**
 * The rules for reasoning that comes back: unchanged, with the signature that this server gave it for this very model,
 * and before the calls that followed from it.
 */
import type { JsonObject } from "@sand/protocol";
import { arrayOf, isObject, objectOf, textOf } from "../read-json.ts";
import { isSealed, signThinking } from "./sign-reasoning.ts";
import { blocksOf, type SeenMessage } from "./view-request.ts";

const breakpointsMax = 4;

export function findReasoningBreaches(body: JsonObject, messages: readonly SeenMessage[]): readonly string[] {
  const model = textOf(body.model);
  const inMessages = messages.flatMap((message, at) =>
    messageBreaches(message, model).map((what) => `message ${at}: ${what}`),
  );
  return [...inMessages, ...switchBreaches(body, messages)];
}

function messageBreaches({ role, blocks }: SeenMessage, model: string): readonly string[] {
  const firstCall = blocks.findIndex((block) => block.type === "tool_use");
  return blocks.flatMap((block, at) => {
    if (!isReasoning(block)) return [];
    return [
      ...(role === "assistant" ? [] : ["reasoning that isn't the assistant's"]),
      ...(firstCall === -1 || at < firstCall ? [] : ["reasoning behind a call"]),
      ...(isGenuine(block, model) ? [] : [`Invalid \`signature\` in \`${textOf(block.type)}\` block`]),
    ];
  });
}

function isReasoning(block: JsonObject | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function isGenuine(block: JsonObject, model: string): boolean {
  return block.type === "thinking"
    ? block.signature === signThinking(textOf(block.thinking), model)
    : isSealed(textOf(block.data), model);
}

/** What switched-on thinking forbids: an open call without its reasoning, and a budget beyond the whole answer. */
function switchBreaches(body: JsonObject, messages: readonly SeenMessage[]): readonly string[] {
  const thinking = objectOf(body.thinking);
  if (thinking.type !== "enabled") return [];
  const last = messages.findLast((message) => message.role === "assistant");
  const isOpen = last?.blocks.some((block) => block.type === "tool_use") ?? false;
  return [
    ...(isOpen && !isReasoning(last?.blocks[0]) ? ["Expected `thinking` before the open calls"] : []),
    ...(Number(thinking.budget_tokens) < Number(body.max_tokens) ? [] : ["a budget beyond max_tokens"]),
  ];
}

/** Marks of the prompt cache: few, and never on reasoning. */
export function findCacheBreaches(body: JsonObject, messages: readonly SeenMessage[]): readonly string[] {
  const blocks = [
    ...blocksOf(body.system),
    ...arrayOf(body.tools).map(objectOf),
    ...messages.flatMap((message) => message.blocks),
  ];
  const marked = blocks.filter((block) => isObject(block.cache_control));
  return [
    ...(marked.length > breakpointsMax ? [`${marked.length} marks of the prompt cache`] : []),
    ...(marked.some(isReasoning) ? ["a mark of the prompt cache on reasoning"] : []),
  ];
}
