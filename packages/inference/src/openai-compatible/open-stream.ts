/**
 * Opens the HTTP stream of one chat completion through the provider library, at the level below its own tool loop.
 *
 * The library converts the messages, sends the request and splits the event stream. It retries nothing here, and its
 * raw chunks are what we read.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelRequest } from "@sand/agent-core";
import { fetchEventStream } from "../fetch-event-stream.ts";
import { toTools } from "../to-tools.ts";

export interface StreamSource {
  /** the name under which reasoning is bound to this kind of provider */
  readonly provider: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly model: string;
  readonly includeUsage: boolean;
}

export interface ToSend {
  readonly request: ModelRequest;
  /** made from the request's messages */
  readonly prompt: LanguageModelV4Prompt;
}

export async function openStream(
  source: StreamSource,
  { request, prompt }: ToSend,
  signal: AbortSignal,
): Promise<ReadableStream<LanguageModelV4StreamPart>> {
  const { maxOutputTokens, temperature } = request.parameters;
  const { stream } = await modelOf(source).doStream({
    prompt,
    tools: toTools(request.tools),
    includeRawChunks: true,
    abortSignal: signal,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
  });
  return stream;
}

type ChatModel = ReturnType<ReturnType<typeof createOpenAICompatible>["chatModel"]>;

// The library builds its parsers with each model, which takes longer than a request does.
const models = new WeakMap<StreamSource, ChatModel>();

function modelOf(source: StreamSource): ChatModel {
  const made = models.get(source) ?? makeModel(source);
  models.set(source, made);
  return made;
}

function makeModel(source: StreamSource): ChatModel {
  const provider = createOpenAICompatible({
    name: source.provider,
    baseURL: source.baseUrl,
    includeUsage: source.includeUsage,
    fetch: fetchEventStream,
    ...(source.apiKey === null ? {} : { apiKey: source.apiKey }),
    ...(isOpenAi(source.baseUrl) ? { transformRequestBody: renameMaxTokens } : {}),
  });
  return provider.chatModel(source.model);
}

function isOpenAi(baseUrl: string): boolean {
  return new URL(baseUrl).hostname === "api.openai.com";
}

/** OpenAI's newer models refuse the old name, and most other servers know only the old one. */
function renameMaxTokens(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { max_tokens: maxTokens, ...rest } = body;
  return { ...rest, max_completion_tokens: maxTokens };
}
