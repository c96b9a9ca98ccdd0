/**
 * One step of an OpenAI-compatible model as the port's parts.
 *
 * Never throws for what a provider does: a failure is the last part. An abort by the caller ends the stream without
 * a further part. Nothing is retried here, because the turn's loop does that with a counter that survives a restart.
 */
import { JSONParseError, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelPart, ModelRequest } from "@sand/agent-core";
import type { Clock, JsonValue } from "@sand/protocol";
import type { StreamLimits } from "../limits.ts";
import { type StallWatch, startStallWatch } from "../stall-watch.ts";
import { failurePart } from "./classify-failure.ts";
import { explainError } from "./explain-error.ts";
import { openStream, type StreamSource } from "./open-stream.ts";
import { createStepAssembly, type StepAssembly } from "./step-assembly.ts";

export interface ChatCompletionSettings extends StreamSource {
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

export async function* streamChatCompletion(
  settings: ChatCompletionSettings,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  const { limits, clock, apiKey } = settings;
  const { firstTokenMs, idleMs, totalMs, closeGraceMs } = limits;
  const watch = startStallWatch(clock, Math.min(firstTokenMs, idleMs, totalMs, closeGraceMs));
  const left = new AbortController();
  const assembly = createStepAssembly(limits, settings.baseUrl);
  try {
    const stop = AbortSignal.any([signal, watch.signal, left.signal]);
    for await (const part of readParts({ settings, request, watch, assembly, stop })) {
      yield hideKey(part, apiKey);
      if (part.type === "error") return;
    }
    yield* assembly.end();
  } catch (error) {
    if (signal.aborted) return;
    if (assembly.finished) yield* assembly.end();
    else yield hideKey(failureOf(error, watch, clock), apiKey);
  } finally {
    // Also reached when the consumer leaves early: the request must not go on without a reader.
    left.abort();
    await watch.stop();
  }
}

interface Reading {
  readonly settings: ChatCompletionSettings;
  readonly request: ModelRequest;
  readonly watch: StallWatch;
  readonly assembly: StepAssembly;
  readonly stop: AbortSignal;
}

async function* readParts({ settings, request, watch, assembly, stop }: Reading): AsyncGenerator<ModelPart> {
  const { limits, clock } = settings;
  const endMs = clock.nowMs() + limits.totalMs;
  // Set once for headers and first chunk together: a provider that answers at once and then says nothing is silent.
  watch.expectWithin(Math.min(limits.firstTokenMs, limits.totalMs), "first token");
  const reader = (await openStream(settings, request, stop)).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.type === "error" && JSONParseError.isInstance(value.error))
      yield explainError(value.error, clock.nowMs());
    if (value.type !== "raw" || value.rawValue === undefined) continue;
    watch.arrived();
    yield* assembly.accept(rawChunk(value));
    const patienceMs = assembly.finished ? limits.closeGraceMs : limits.idleMs;
    watch.expectWithin(Math.min(patienceMs, endMs - clock.nowMs()), "further token");
  }
}

type RawPart = Extract<LanguageModelV4StreamPart, { readonly type: "raw" }>;

/** The library's raw value is the outcome of its JSON parser. */
function rawChunk(part: RawPart): JsonValue {
  return part.rawValue as JsonValue;
}

function failureOf(error: unknown, watch: StallWatch, clock: Clock): ModelPart {
  if (watch.expired === undefined) return explainError(error, clock.nowMs());
  const message = `the model sent no ${watch.expired} in time`;
  return failurePart("inference/timeout", { message, retryable: true });
}

/** A provider may repeat our key in its message. */
function hideKey(part: ModelPart, apiKey: string | null): ModelPart {
  if (part.type !== "error" || apiKey === null || apiKey === "") return part;
  return { ...part, message: part.message.replaceAll(apiKey, "[key]") };
}
