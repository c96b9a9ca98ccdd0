/**
 * Turns a scripted reply into the frames of a chat completions stream, or into the one body of a plain answer.
 *
 * The bytes depend on the request and the reply alone, so a recorded stream can be cut at the same byte again.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import type { ModelReply, ScriptedCall, ScriptedUsage } from "../model-script.ts";
import { defaultDeltaChars, splitText } from "../split-text.ts";
import type { ReplyIdentity } from "../wire-format.ts";

const defaultUsage: ScriptedUsage = { inputTokens: 100, outputTokens: 20 };
/** providers send seconds since 1970; a fixed one keeps the bytes the same */
const created = 1_700_000_000;

export function encodeFrames(reply: ModelReply, identity: ReplyIdentity): readonly string[] {
  const chars = reply.deltaChars ?? defaultDeltaChars;
  const deltas: JsonObject[] = [
    { role: "assistant", content: "" },
    ...splitText(reply.reasoning ?? "", chars).map((text) => ({ reasoning_content: text })),
    ...splitText(reply.text ?? "", chars).map((text) => ({ content: text })),
    ...(reply.calls ?? []).flatMap((call, index) => callDeltas({ call, index, chars, identity })),
  ];
  const chunks = deltas.map((delta) =>
    chunk(identity, { choices: [{ index: 0, delta, finish_reason: null }] }),
  );
  const finish = finishOf(reply);
  if (finish !== null) {
    chunks.push(chunk(identity, { choices: [{ index: 0, delta: {}, finish_reason: finish }] }));
  }
  if (identity.includeUsage && reply.usage !== null) {
    chunks.push(chunk(identity, { choices: [], usage: encodeUsage(reply.usage ?? defaultUsage) }));
  }
  return [...chunks.map(dataFrame), "data: [DONE]\n\n"];
}

export function dataFrame(data: JsonValue | string): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

export function encodeBody(reply: ModelReply, identity: ReplyIdentity): JsonObject {
  const calls = (reply.calls ?? []).map((call, index) => ({
    ...idField(call, index, identity),
    type: "function",
    function: { name: call.name, arguments: argsText(call) },
  }));
  const message = {
    role: "assistant",
    content: reply.text ?? null,
    refusal: null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    id: idOf(identity),
    object: "chat.completion",
    created,
    model: identity.model,
    choices: [{ index: 0, message, finish_reason: finishOf(reply), logprobs: null }],
    ...(reply.usage === null ? {} : { usage: encodeUsage(reply.usage ?? defaultUsage) }),
  };
}

function idOf({ digest }: ReplyIdentity): string {
  return `chatcmpl-${digest.slice(0, 24)}`;
}

function finishOf(reply: ModelReply): string | null {
  if (reply.finish !== undefined) return reply.finish;
  return (reply.calls ?? []).length > 0 ? "tool_calls" : "stop";
}

function chunk(identity: ReplyIdentity, fields: JsonObject): JsonObject {
  return { id: idOf(identity), object: "chat.completion.chunk", created, model: identity.model, ...fields };
}

interface CallPlace {
  readonly call: ScriptedCall;
  readonly index: number;
  readonly chars: number;
  readonly identity: ReplyIdentity;
}

function callDeltas({ call, index, chars, identity }: CallPlace): readonly JsonObject[] {
  const opening = {
    index,
    ...idField(call, index, identity),
    type: "function",
    function: { name: call.name, arguments: "" },
  };
  const rest = splitText(argsText(call), chars).map((text) => ({ index, function: { arguments: text } }));
  return [opening, ...rest].map((part) => ({ tool_calls: [part] }));
}

function idField(call: ScriptedCall, index: number, identity: ReplyIdentity): { readonly id?: string } {
  if (call.id === null) return {};
  return { id: call.id ?? `call_${idOf(identity).slice(-12)}_${index}` };
}

function argsText(call: ScriptedCall): string {
  return typeof call.args === "string" ? call.args : JSON.stringify(call.args);
}

function encodeUsage(usage: ScriptedUsage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    ...(usage.cacheReadTokens === undefined
      ? {}
      : { prompt_tokens_details: { cached_tokens: usage.cacheReadTokens } }),
    ...(usage.reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: usage.reasoningTokens } }),
  };
}
