/**
 * Turns our messages into the library's prompt, so that it comes out as this provider wants it.
 *
 * The library joins neighbours: prompts that follow each other, and all results of a step, become one user message.
 * We see to the rest: no blank block, ids in the provider's form, the user first, one system text in front. Reasoning
 * goes back only to the provider, the address and the model that made it, block for block where it stood.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage, ModelRequest } from "@sand/agent-core";
import { historyArguments } from "../history-arguments.ts";
import { makeSafeText } from "../safe-text.ts";
import { earlierLeftOut, noOutput, noText } from "../stand-ins.ts";
import { conformIds, conformName } from "./conform-names.ts";
import { type ReasoningBlock, type ReasoningSource, readReasoningPart } from "./reasoning-part.ts";

type Assistant = Extract<ModelMessage, { readonly role: "assistant" }>;
type AssistantContent = Extract<LanguageModelV4Message, { readonly role: "assistant" }>["content"];
type ContentPart = AssistantContent[number];
type Ids = ReadonlyMap<string, string>;

export function toPrompt(request: ModelRequest, source: ReasoningSource): LanguageModelV4Prompt {
  const from = request.dropReasoning === true ? null : source;
  const { messages } = request;
  const ids = conformIds(messages.flatMap(idsOf));
  const system = messages.flatMap((message) => (message.role === "system" ? [message.text] : []));
  const talk = messages.flatMap((message) => toMessages(message, ids, from));
  const text = makeSafeText(system.filter((part) => !isBlank(part)).join("\n\n"));
  return [
    ...(text === "" ? [] : [{ role: "system" as const, content: text }]),
    ...(talk[0]?.role === "assistant" ? [userMessage(earlierLeftOut)] : []),
    ...talk,
  ];
}

function idsOf(message: ModelMessage): readonly string[] {
  if (message.role === "tool") return [message.providerCallId];
  return message.role === "assistant" ? message.calls.map((call) => call.providerCallId) : [];
}

function toMessages(
  message: ModelMessage,
  ids: Ids,
  source: ReasoningSource | null,
): readonly LanguageModelV4Message[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [userMessage(isBlank(message.text) ? noText : makeSafeText(message.text))];
    case "assistant": {
      const content = toContent(message, ids, source);
      return content.length === 0 ? [] : [{ role: "assistant", content: [...content] }];
    }
    case "tool": {
      const value = isBlank(message.text) ? noOutput : makeSafeText(message.text);
      return [
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: ids.get(message.providerCallId) ?? message.providerCallId,
              toolName: conformName(message.name),
              output: { type: message.isError ? "error-text" : "text", value },
            },
          ],
        },
      ];
    }
  }
}

function userMessage(text: string): LanguageModelV4Message {
  return { role: "user", content: [{ type: "text", text }] };
}

function toContent(message: Assistant, ids: Ids, source: ReasoningSource | null): readonly ContentPart[] {
  const calls = message.calls.map((call): ContentPart => {
    // The library refuses some arguments as a text; an object it sends as it is.
    const input: unknown = JSON.parse(historyArguments(call.argsText));
    const toolCallId = ids.get(call.providerCallId) ?? call.providerCallId;
    return { type: "tool-call", toolCallId, toolName: conformName(call.name), input };
  });
  const layout = source === null ? undefined : findLayout(message, source);
  if (layout === undefined) return [...textParts(message.text), ...calls];
  if (!fits(layout, message)) {
    return [...layout.flatMap(reasoningParts), ...textParts(message.text), ...calls];
  }
  return placeParts(layout, message.text, calls);
}

function findLayout(message: Assistant, source: ReasoningSource): readonly ReasoningBlock[] | undefined {
  for (const { provider, model, part } of message.reasoning) {
    if (provider !== source.provider || model !== source.model) continue;
    const layout = readReasoningPart(part, source);
    if (layout !== undefined) return layout;
  }
  return undefined;
}

function fits(layout: readonly ReasoningBlock[], message: Assistant): boolean {
  const chars = layout.reduce((sum, block) => sum + (block.type === "text" ? block.chars : 0), 0);
  const calls = layout.filter((block) => block.type === "call").length;
  return chars === message.text.length && calls === message.calls.length;
}

function placeParts(
  layout: readonly ReasoningBlock[],
  text: string,
  calls: readonly ContentPart[],
): readonly ContentPart[] {
  let textAt = 0;
  let callAt = 0;
  return layout.flatMap((block) => {
    if (block.type === "call") {
      callAt += 1;
      return calls.slice(callAt - 1, callAt);
    }
    if (block.type !== "text") return reasoningParts(block);
    textAt += block.chars;
    return textParts(text.slice(textAt - block.chars, textAt));
  });
}

/** The library takes a block's signature from here, and sends the block as it came. */
function reasoningParts(block: ReasoningBlock): readonly ContentPart[] {
  if (block.type === "thinking") {
    const { thinking, signature } = block;
    return [{ type: "reasoning", text: thinking, providerOptions: { anthropic: { signature } } }];
  }
  if (block.type !== "redacted_thinking") return [];
  return [{ type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: block.data } } }];
}

function textParts(text: string): readonly ContentPart[] {
  return isBlank(text) ? [] : [{ type: "text", text: makeSafeText(text) }];
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
