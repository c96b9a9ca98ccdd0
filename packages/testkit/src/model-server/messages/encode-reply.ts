/**
 * Turns a scripted reply into the events of a messages stream, or into the one body of a plain answer.
 *
 * The bytes depend on the request and the reply alone, so a recorded stream can be cut at the same byte again.
 */
import type { JsonObject } from "@sand/protocol";
import type { ModelReply, ScriptedCall, ScriptedUsage } from "../model-script.ts";
import { objectOf } from "../read-json.ts";
import { defaultDeltaChars, splitText } from "../split-text.ts";
import type { ReplyIdentity } from "../wire-format.ts";
import { sealReasoning, signThinking } from "./sign-reasoning.ts";

const defaultUsage: ScriptedUsage = { inputTokens: 100, outputTokens: 20 };

/** the scripts' words for an end, which are those of the other format, in this format's */
const stopReasons = new Map([
  ["stop", "end_turn"],
  ["tool_calls", "tool_use"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

/** a block as it begins, and what its deltas bring */
interface BlockPlan {
  readonly start: JsonObject;
  readonly deltas: readonly JsonObject[];
  /** as it stands in a plain answer */
  readonly whole: JsonObject;
}

export function encodeFrames(reply: ModelReply, identity: ReplyIdentity): readonly string[] {
  const stopReason = stopReasonOf(reply);
  const message = {
    ...messageHead(identity),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(reply.usage === null
      ? {}
      : { usage: { ...inputUsage(reply.usage ?? defaultUsage), output_tokens: 1 } }),
  };
  const end = {
    type: "message_delta",
    delta: { stop_reason: stopReason, stop_sequence: null },
    ...(reply.usage === null ? {} : { usage: outputUsage(reply.usage ?? defaultUsage) }),
  };
  const events: readonly JsonObject[] = [
    { type: "message_start", message },
    { type: "ping" },
    ...planBlocks(reply, identity).flatMap(blockEvents),
    ...(stopReason === null ? [] : [end]),
    { type: "message_stop" },
  ];
  return events.map((event) => eventFrame(JSON.stringify(event)));
}

/** With the event's name where the text has one: the official SDK goes by it. */
export function eventFrame(text: string): string {
  const name = /"type":"([a-z_]+)"/u.exec(text)?.[1];
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

export function encodeBody(reply: ModelReply, identity: ReplyIdentity): JsonObject {
  const usage = reply.usage ?? defaultUsage;
  return {
    ...messageHead(identity),
    content: planBlocks(reply, identity).map((block) => block.whole),
    stop_reason: stopReasonOf(reply),
    stop_sequence: null,
    usage: { ...inputUsage(usage), ...outputUsage(usage) },
  };
}

function messageHead({ digest, model }: ReplyIdentity): JsonObject {
  return { id: `msg_${digest.slice(0, 24)}`, type: "message", role: "assistant", model };
}

function stopReasonOf(reply: ModelReply): string | null {
  if (reply.finish === null) return null;
  const finish = reply.finish ?? ((reply.calls ?? []).length > 0 ? "tool_calls" : "stop");
  return stopReasons.get(finish) ?? finish;
}

function blockEvents(block: BlockPlan, index: number): readonly JsonObject[] {
  return [
    { type: "content_block_start", index, content_block: block.start },
    ...block.deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function planBlocks(reply: ModelReply, identity: ReplyIdentity): readonly BlockPlan[] {
  const chars = reply.deltaChars ?? defaultDeltaChars;
  const { reasoning, redactedReasoning, text } = reply;
  return [
    ...(reasoning === undefined ? [] : [planThinking(reasoning, identity.model, chars)]),
    ...(redactedReasoning === undefined ? [] : [planRedacted(redactedReasoning, identity.model)]),
    ...(text === undefined || text === "" ? [] : [planText(text, chars)]),
    ...(reply.calls ?? []).map((call, index) => planCall(call, callId(call, index, identity), chars)),
  ];
}

function planThinking(thinking: string, model: string, chars: number): BlockPlan {
  const signature = signThinking(thinking, model);
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...splitText(thinking, chars).map((piece) => ({ type: "thinking_delta", thinking: piece })),
      { type: "signature_delta", signature },
    ],
    whole: { type: "thinking", thinking, signature },
  };
}

function planRedacted(text: string, model: string): BlockPlan {
  const whole = { type: "redacted_thinking", data: sealReasoning(text, model) };
  return { start: whole, deltas: [], whole };
}

function planText(text: string, chars: number): BlockPlan {
  return {
    start: { type: "text", text: "" },
    deltas: splitText(text, chars).map((piece) => ({ type: "text_delta", text: piece })),
    whole: { type: "text", text },
  };
}

function planCall(call: ScriptedCall, id: JsonObject, chars: number): BlockPlan {
  const args = typeof call.args === "string" ? call.args : JSON.stringify(call.args);
  const head = { type: "tool_use", ...id, name: call.name };
  const pieces = ["", ...splitText(args, chars)];
  return {
    start: { ...head, input: {} },
    deltas: pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
    whole: { ...head, input: parseArgs(args) },
  };
}

function callId(call: ScriptedCall, index: number, { digest }: ReplyIdentity): JsonObject {
  return call.id === null ? {} : { id: call.id ?? `toolu_${digest.slice(0, 12)}_${index}` };
}

function parseArgs(text: string): JsonObject {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function inputUsage(usage: ScriptedUsage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
    cache_read_input_tokens: usage.cacheReadTokens ?? 0,
  };
}

function outputUsage(usage: ScriptedUsage): JsonObject {
  return {
    output_tokens: usage.outputTokens,
    ...(usage.reasoningTokens === undefined
      ? {}
      : { output_tokens_details: { thinking_tokens: usage.reasoningTokens } }),
  };
}
