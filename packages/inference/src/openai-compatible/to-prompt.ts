/**
 * Turns our messages into the library's prompt, safe to send.
 *
 * Reasoning goes back only to the provider, the address and the model that made it, in the field in which it came:
 * anyone else refuses it, and a foreign signature would poison each later request.
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import type { ModelMessage, ToolDescription } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { historyArguments } from "../history-arguments.ts";
import { makeSafeObject, makeSafeText } from "../safe-text.ts";
import { type ReasoningSource, readReasoningPart } from "./reasoning-part.ts";

/** sent for a tool that printed nothing: several providers refuse an empty result */
const noOutput = "(no output)";

export function toPrompt(messages: readonly ModelMessage[], source: ReasoningSource): LanguageModelV4Prompt {
  return messages.map((message) => toMessage(message, source));
}

function toMessage(message: ModelMessage, source: ReasoningSource): LanguageModelV4Message {
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

function toAssistant(message: AssistantMessage, source: ReasoningSource): LanguageModelV4Message {
  const text = makeSafeText(message.text);
  const fields = reasoningFields(message, source);
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

export function toTools(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool) => ({
    type: "function",
    name: tool.name,
    description: makeSafeText(tool.description),
    inputSchema: makeSafeObject(tool.parameters),
  }));
}
