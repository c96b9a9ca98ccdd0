/** One step of an OpenAI-compatible model as the port's parts. */
import type { ModelPart, ModelRequest } from "@sand/agent-core";
import type { Clock } from "@sand/protocol";
import type { StreamLimits } from "../limits.ts";
import { streamStep } from "../steps/stream-step.ts";
import { createCompletionAssembly } from "./assemble-completion.ts";
import { openStream, type StreamSource } from "./open-stream.ts";
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
      open: async (stop) => openStream(settings, { request, prompt }, stop),
    },
    signal,
  );
}
