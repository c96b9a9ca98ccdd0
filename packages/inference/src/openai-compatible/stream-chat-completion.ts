/** One step of an OpenAI-compatible model as the port's parts. */
import type { ModelPart, ModelRequest } from "@sand/agent-core";
import type { Clock } from "@sand/protocol";
import { readEvents } from "../http/read-events.ts";
import type { StreamLimits } from "../limits.ts";
import { type StreamItem, streamStep } from "../steps/stream-step.ts";
import { createCompletionAssembly } from "./assemble-completion.ts";
import { openStream, type StreamSource } from "./open-stream.ts";
import { toBody } from "./to-body.ts";

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
  const { text, sentReasoning } = toBody(request, settings);
  return streamStep(
    {
      limits,
      clock,
      apiKey,
      sentReasoning,
      assembly: createCompletionAssembly(limits, { baseUrl, sentReasoning }),
      read: (stop) => readChunks(settings, text, stop),
    },
    signal,
  );
}

async function* readChunks(
  settings: ChatCompletionSettings,
  body: string,
  stop: AbortSignal,
): AsyncGenerator<StreamItem> {
  yield* readEvents(await openStream(settings, body, stop));
}
