/**
 * Opens the HTTP stream of one chat completion through the provider library, at the level below its own tool loop.
 *
 * The library converts the messages, sends the request and splits the event stream. It retries nothing here, and its
 * raw chunks are what we read.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelRequest } from "@sand/agent-core";
import { toPrompt, toTools } from "./to-prompt.ts";

export interface StreamSource {
  /** the name under which reasoning is bound to this kind of provider */
  readonly provider: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly model: string;
  readonly includeUsage: boolean;
}

/** A successful answer that isn't a stream: most often the base URL is that of a web page or lacks its version. */
export class NotAStreamError extends Error {
  readonly contentType: string;

  constructor(contentType: string) {
    super(`the model provider answered with ${contentType} and not with an event stream`);
    this.name = "NotAStreamError";
    this.contentType = contentType;
  }
}

export async function openStream(
  source: StreamSource,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ReadableStream<LanguageModelV4StreamPart>> {
  const { maxOutputTokens, temperature } = request.parameters;
  const provider = createOpenAICompatible({
    name: source.provider,
    baseURL: source.baseUrl,
    includeUsage: source.includeUsage,
    fetch: fetchEventStream,
    ...(source.apiKey === null ? {} : { apiKey: source.apiKey }),
    ...(isOpenAi(source.baseUrl) ? { transformRequestBody: renameMaxTokens } : {}),
  });
  const { stream } = await provider.chatModel(source.model).doStream({
    prompt: toPrompt(request.messages, source),
    tools: toTools(request.tools),
    includeRawChunks: true,
    abortSignal: signal,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
  });
  return stream;
}

async function fetchEventStream(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const contentType = response.headers.get("content-type") ?? "";
  if (response.ok && /^(?:text\/html|application\/json)\b/iu.test(contentType)) {
    await response.body?.cancel();
    throw new NotAStreamError(contentType);
  }
  return response;
}

function isOpenAi(baseUrl: string): boolean {
  return new URL(baseUrl).hostname === "api.openai.com";
}

/** OpenAI's newer models refuse the old name, and most other servers know only the old one. */
function renameMaxTokens(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { max_tokens: maxTokens, ...rest } = body;
  return { ...rest, max_completion_tokens: maxTokens };
}
