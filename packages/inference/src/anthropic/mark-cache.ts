/**
 * Marks where the provider may cache the request's beginning: behind the system text, which covers the tools as well,
 * and behind the last two of the user's messages.
 *
 * The mark at the end writes what the next step will read; the one before it is where this step reads what the last
 * one wrote. The provider takes four marks at most.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

const userMarksMax = 2;
const mark = { anthropic: { cacheControl: { type: "ephemeral" } } } as const;

export function markCache(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const ends = prompt.flatMap((message, at) => (endsUserMessage(message, prompt[at + 1]) ? [at] : []));
  const marked = new Set(ends.slice(-userMarksMax));
  return prompt.map((message, at) =>
    message.role === "system" || marked.has(at) ? { ...message, providerOptions: mark } : message,
  );
}

/** Whether the message on the wire that this one becomes a part of ends with it. */
function endsUserMessage(message: LanguageModelV4Message, next: LanguageModelV4Message | undefined): boolean {
  return isUsers(message) && (next === undefined || !isUsers(next));
}

function isUsers(message: LanguageModelV4Message): boolean {
  return message.role === "user" || message.role === "tool";
}
