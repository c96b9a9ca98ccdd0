/**
 * Makes the body of a chat completions request, safe to send. The order of its fields is part of it: a provider's
 * prompt cache goes by the bytes.
 *
 * Written by us and not by the provider library, of which this path had no other use left: it parses each earlier
 * call's arguments again with every step, and its parsers take longer to be made and loaded than a step takes.
 */
import type { ModelMessage, ModelRequest, ToolDescription } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { historyArguments } from "../history-arguments.ts";
import { makeSafeObject, makeSafeText } from "../safe-text.ts";
import { noOutput } from "../stand-ins.ts";
import { type ReasoningSource, readReasoningPart } from "./reasoning-part.ts";

export interface BodySource extends ReasoningSource {
  readonly includeUsage: boolean;
}

export interface ChatBody {
  readonly text: string;
  /** whether any message gives reasoning back */
  readonly sentReasoning: boolean;
}

export function toBody(request: ModelRequest, source: BodySource): ChatBody {
  const { maxOutputTokens, temperature } = request.parameters;
  const reasoningFrom = request.dropReasoning === true ? null : source;
  const made = request.messages.map((message) => toMessage(message, reasoningFrom));
  // OpenAI's newer models refuse the old name, and most other servers know only the old one.
  const isOpenAi = new URL(source.baseUrl).hostname === "api.openai.com";
  const body = {
    model: source.model,
    ...(isOpenAi ? {} : { max_tokens: maxOutputTokens }),
    temperature,
    messages: made.map(({ fields }) => fields),
    tools: request.tools.length === 0 ? undefined : request.tools.map(toTool),
    stream: true,
    stream_options: source.includeUsage ? { include_usage: true } : undefined,
    ...(isOpenAi ? { max_completion_tokens: maxOutputTokens } : {}),
  };
  return {
    text: JSON.stringify(body),
    sentReasoning: made.some(({ hasReasoning }) => hasReasoning),
  };
}

interface MadeMessage {
  readonly fields: JsonObject;
  readonly hasReasoning: boolean;
}

/** `source` is null when no reasoning is to be given back. */
function toMessage(message: ModelMessage, source: ReasoningSource | null): MadeMessage {
  switch (message.role) {
    case "system":
    case "user":
      return plain({ role: message.role, content: makeSafeText(message.text) });
    case "assistant":
      return toAssistant(message, source);
    case "tool":
      return plain({
        role: "tool",
        tool_call_id: makeSafeText(message.providerCallId),
        content: makeSafeText(message.text) || noOutput,
      });
  }
}

function plain(fields: JsonObject): MadeMessage {
  return { fields, hasReasoning: false };
}

type AssistantMessage = Extract<ModelMessage, { readonly role: "assistant" }>;

function toAssistant(message: AssistantMessage, source: ReasoningSource | null): MadeMessage {
  const text = makeSafeText(message.text);
  const calls = message.calls.map((call) => ({
    id: makeSafeText(call.providerCallId),
    type: "function",
    function: { name: makeSafeText(call.name), arguments: historyArguments(call.argsText) },
  }));
  const reasoning = source === null ? undefined : reasoningFields(message, source);
  const fields = {
    role: "assistant",
    content: calls.length > 0 && text === "" ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...reasoning,
  };
  return { fields, hasReasoning: reasoning !== undefined };
}

/**
 * Reasoning goes back only to the provider, the address and the model that made it, in the field in which it came:
 * anyone else refuses it, and a foreign signature would poison each later request.
 */
function reasoningFields(message: AssistantMessage, source: ReasoningSource): JsonObject | undefined {
  for (const { provider, model, part } of message.reasoning) {
    if (provider !== source.provider || model !== source.model) continue;
    const fields = readReasoningPart(part, source);
    if (fields !== undefined) return makeSafeObject(fields);
  }
  return undefined;
}

// A tool is described once and sent with every step.
const madeTools = new WeakMap<ToolDescription, JsonObject>();

function toTool(tool: ToolDescription): JsonObject {
  const known = madeTools.get(tool);
  if (known !== undefined) return known;
  const made = {
    type: "function",
    function: {
      name: tool.name,
      description: makeSafeText(tool.description),
      parameters: makeSafeObject(tool.parameters),
    },
  };
  madeTools.set(tool, made);
  return made;
}
