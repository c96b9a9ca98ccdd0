/** One step of an Anthropic model as the port's parts. */
import type { ModelPart, ModelRequest } from "@sand/agent-core";
import type { Clock } from "@sand/protocol";
import type { StreamLimits } from "../limits.ts";
import { type StreamItem, streamStep } from "../steps/stream-step.ts";
import { createMessageAssembly } from "./assemble-message.ts";
import { type MessageSource, openStream, type ToSend } from "./open-stream.ts";
import { readStream } from "./read-stream.ts";
import { toPrompt } from "./to-prompt.ts";

export interface MessageSettings extends MessageSource {
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

export function streamMessage(
  settings: MessageSettings,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  const { limits, clock, apiKey, baseUrl } = settings;
  const prompt = toPrompt(request, settings);
  const sentReasoning = givesReasoningBack(prompt);
  return streamStep(
    {
      limits,
      clock,
      apiKey,
      sentReasoning,
      assembly: createMessageAssembly(limits, { baseUrl, sentReasoning }),
      read: (stop) => readAnswer(settings, { request, prompt }, stop),
    },
    signal,
  );
}

async function* readAnswer(
  settings: MessageSettings,
  toSend: ToSend,
  stop: AbortSignal,
): AsyncGenerator<StreamItem> {
  yield* readStream(await openStream(settings, toSend, stop));
}

function givesReasoningBack(prompt: ToSend["prompt"]): boolean {
  return prompt.some(
    (message) => message.role === "assistant" && message.content.some((part) => part.type === "reasoning"),
  );
}
