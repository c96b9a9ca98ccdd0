/** One step of an OpenAI-compatible model as the port's parts. */
import { JSONParseError, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelPart, ModelRequest } from "@sand/agent-core";
import type { Clock, JsonValue } from "@sand/protocol";
import type { StreamLimits } from "../limits.ts";
import { type StreamItem, streamStep } from "../steps/stream-step.ts";
import { createCompletionAssembly } from "./assemble-completion.ts";
import { openStream, type StreamSource, type ToSend } from "./open-stream.ts";
import { hasReasoning, toPrompt } from "./to-prompt.ts";

export interface ChatCompletionSettings extends StreamSource {
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

export function streamChatCompletion(
  settings: ChatCompletionSettings,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  const { limits, clock, apiKey, baseUrl } = settings;
  const prompt = toPrompt(request, settings);
  const sentReasoning = hasReasoning(prompt);
  return streamStep(
    {
      limits,
      clock,
      apiKey,
      sentReasoning,
      assembly: createCompletionAssembly(limits, { baseUrl, sentReasoning }),
      read: (stop) => readChunks(settings, { request, prompt }, stop),
    },
    signal,
  );
}

async function* readChunks(
  settings: ChatCompletionSettings,
  toSend: ToSend,
  stop: AbortSignal,
): AsyncGenerator<StreamItem> {
  const reader = (await openStream(settings, toSend, stop)).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.type === "error" && JSONParseError.isInstance(value.error)) yield { kind: "unreadable" };
    if (value.type === "raw" && value.rawValue !== undefined) yield { kind: "chunk", chunk: rawChunk(value) };
  }
}

type RawPart = Extract<LanguageModelV4StreamPart, { readonly type: "raw" }>;

/** The library's raw value is the outcome of its JSON parser. */
function rawChunk(part: RawPart): JsonValue {
  return part.rawValue as JsonValue;
}
