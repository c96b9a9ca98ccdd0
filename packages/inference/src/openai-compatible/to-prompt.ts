/**
 * Turns our messages into the library's prompt, safe to send.
 *
 * Reasoning goes back only to the provider, the address and the model that made it, in the field in which it came:
 * anyone else refuses it, and a foreign signature would poison each later request.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage, ModelRequest } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { historyArguments } from "../history-arguments.ts";

import { makeSafeObject, makeSafeText } from "../safe-text.ts";
import { noOutput } from "../stand-ins.ts";
import { type ReasoningSource, readReasoningPart } from "./reasoning-part.ts";

export function toPrompt(request: ModelRequest, source: ReasoningSource): LanguageModelV4Prompt {
  const from = request.dropReasoning === true ? null : source;
  return request.messages.map((message) => toMessage(message, from));
}

/** `source` is null when no reasoning is to be given back. */
function toMessage(message: ModelMessage, source: ReasoningSource | null): LanguageModelV4Message {
  switch (message.role) {
    case "system":
      return { role: "system", content: makeSafeText(message.text) };
    case "user":
      return { role: "user", content: [{ type: "text", text: makeSafeText(message.text) }] };
    case "assistant":
      return toAssistant(message, source);
    case "tool":
      return {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: makeSafeText(message.providerCallId),
            toolName: makeSafeText(message.name),
            output: { type: "text", value: makeSafeText(message.text) || noOutput },
          },
        ],
      };
  }
}

type AssistantMessage = Extract<ModelMessage, { readonly role: "assistant" }>;

function toAssistant(message: AssistantMessage, source: ReasoningSource | null): LanguageModelV4Message {
  const text = makeSafeText(message.text);
  const fields = source === null ? undefined : reasoningFields(message, source);
  return {
    role: "assistant",
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...message.calls.map((call) => ({
        type: "tool-call" as const,
        toolCallId: makeSafeText(call.providerCallId),
        toolName: makeSafeText(call.name),
        input: historyArguments(call.argsText),
      })),
    ],
    // The library copies these fields into the message on the wire.
    ...(fields === undefined ? {} : { providerOptions: { openaiCompatible: fields } }),
  };
}

function reasoningFields(message: AssistantMessage, source: ReasoningSource): JsonObject | undefined {
  for (const { provider, model, part } of message.reasoning) {
    if (provider !== source.provider || model !== source.model) continue;
    const fields = readReasoningPart(part, source);
    if (fields !== undefined) return makeSafeObject(fields);
  }
  return undefined;
}

/** Whether any message gives reasoning back. */
export function hasReasoning(prompt: LanguageModelV4Prompt): boolean {
  return prompt.some((message) => message.role === "assistant" && message.providerOptions !== undefined);
}
