/**
 * Opens the HTTP stream of one message through the provider library, at the level below its own tool loop.
 *
 * The library builds the request, sends it and explains a refusal; it retries nothing here. The body of a good answer
 * we keep to ourselves and give the library an empty one: it waits for a first event that it knows and fails on
 * events that it doesn't, which none of the format's many servers promises.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelRequest } from "@sand/agent-core";
import { fetchEventStream } from "../fetch-event-stream.ts";
import { toTools } from "../to-tools.ts";
import { markCache } from "./mark-cache.ts";

export interface MessageSource {
  /** the name under which reasoning is bound to this kind of provider */
  readonly provider: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly model: string;
  /** tokens of an answer when the request names no number: the format wants one */
  readonly maxOutputTokens: number;
  /** tokens that the model may think with before it answers; `null` leaves thinking as the model has it */
  readonly thinkingTokens: number | null;
  readonly markCache: boolean;
}

export interface ToSend {
  readonly request: ModelRequest;
  /** made from the request's messages */
  readonly prompt: LanguageModelV4Prompt;
}

export async function openStream(
  source: MessageSource,
  { request, prompt }: ToSend,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const answer = keepAnswer(source.apiKey);
  const provider = createAnthropic({
    baseURL: source.baseUrl,
    // Left out, the library would look for a key in the environment.
    apiKey: source.apiKey ?? "none",
    fetch: answer.fetch,
  });
  const thinks = source.thinkingTokens !== null && mayThink(request, prompt);
  const { stream } = await provider.messages(source.model).doStream({
    prompt: source.markCache ? markCache(prompt) : prompt,
    tools: toTools(request.tools),
    abortSignal: signal,
    // No temperature: the format has none any more, and the newer models refuse one.
    maxOutputTokens: request.parameters.maxOutputTokens ?? source.maxOutputTokens,
    providerOptions: {
      anthropic: {
        // A field of the tools that other servers of the format refuse. Without it long arguments come late, while
        // pings show that the model is at work.
        toolStreaming: false,
        ...(thinks ? { thinking: { type: "enabled", budgetTokens: source.thinkingTokens } } : {}),
      },
    },
  });
  await stream.cancel();
  return answer.body();
}

/** Thinking is refused when the calls under way came without it: made by another model, or their reasoning dropped. */
function mayThink(request: ModelRequest, prompt: LanguageModelV4Prompt): boolean {
  if (request.dropReasoning === true) return false;
  const last = prompt.findLast((message) => message.role === "assistant");
  const hasCalls = last?.content.some((part) => part.type === "tool-call") ?? false;
  return !hasCalls || last?.content[0]?.type === "reasoning";
}

interface KeptAnswer {
  readonly fetch: typeof fetch;
  body(): ReadableStream<Uint8Array>;
}

function keepAnswer(apiKey: string | null): KeptAnswer {
  let kept: ReadableStream<Uint8Array> | null = null;
  return {
    async fetch(input, init) {
      const headers = new Headers(init?.headers);
      if (apiKey === null) headers.delete("x-api-key");
      const response = await fetchEventStream(input, { ...init, headers });
      if (!response.ok) return response;
      kept = response.body;
      return new Response("", { headers: { "content-type": "text/event-stream" } });
    },
    body: () => kept ?? new Blob([]).stream(),
  };
}
