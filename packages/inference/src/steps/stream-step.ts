/**
 * One step of a model as the port's parts, whatever its wire format.
 *
 * Never throws for what a provider does: a failure is the last part. An abort by the caller ends the stream without
 * a further part. Nothing is retried here, because the turn's loop does that with a counter that survives a restart.
 */
import type { ModelPart } from "@sand/agent-core";
import type { Clock, JsonValue } from "@sand/protocol";
import { failurePart } from "../failures/classify-failure.ts";
import { explainError } from "../failures/explain-error.ts";
import type { StreamLimits } from "../limits.ts";
import { type StallWatch, startStallWatch } from "../stall-watch.ts";
import { malformed, type StepAssembly } from "./step-assembly.ts";

export type StreamItem =
  | { readonly kind: "chunk"; readonly chunk: JsonValue }
  /** a chunk that is no JSON */
  | { readonly kind: "unreadable" };

export interface StepSource {
  readonly limits: StreamLimits;
  readonly clock: Clock;
  readonly apiKey: string | null;
  /** whether the request gives reasoning back, so that a refusal may be about it */
  readonly sentReasoning: boolean;
  readonly assembly: StepAssembly;
  /** sends the request with the first step, and gives its chunks */
  read(signal: AbortSignal): AsyncIterable<StreamItem>;
}

/** a reason that is made once: the one that a signal makes by itself carries a stack, at each step */
const over = new Error("the step is over");

export async function* streamStep(source: StepSource, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const { limits, clock, apiKey, assembly } = source;
  const { firstTokenMs, idleMs, totalMs, closeGraceMs } = limits;
  const watch = startStallWatch(clock, Math.min(firstTokenMs, idleMs, totalMs, closeGraceMs));
  const left = new AbortController();
  try {
    const stop = AbortSignal.any([signal, watch.signal, left.signal]);
    for await (const part of readParts(source, watch, stop)) {
      yield hideKey(part, apiKey);
      // What has come already isn't told to one who has turned away.
      if (part.type === "error" || signal.aborted) return;
    }
    if (!signal.aborted) yield* assembly.end();
  } catch (error) {
    if (signal.aborted) return;
    if (assembly.finished) yield* assembly.end();
    else yield hideKey(failureOf(error, watch, source), apiKey);
  } finally {
    // Also reached when the consumer leaves early: the request must not go on without a reader.
    left.abort(over);
    await watch.stop();
  }
}

async function* readParts(
  source: StepSource,
  watch: StallWatch,
  stop: AbortSignal,
): AsyncGenerator<ModelPart> {
  const { limits, clock, assembly } = source;
  const startMs = clock.nowMs();
  const endMs = startMs + limits.totalMs;
  // Set once for headers and first token together: a provider that answers at once and then says nothing is silent.
  const firstEndMs = startMs + Math.min(limits.firstTokenMs, limits.totalMs);
  watch.expectWithin(firstEndMs - startMs, "first token");
  for await (const item of source.read(stop)) {
    watch.arrived();
    if (item.kind === "unreadable") yield malformed("a chunk is no JSON");
    else yield* assembly.accept(item.chunk);
    if (!assembly.begun) {
      watch.expectWithin(firstEndMs - clock.nowMs(), "first token");
      continue;
    }
    const patienceMs = assembly.finished ? limits.closeGraceMs : limits.idleMs;
    watch.expectWithin(Math.min(patienceMs, endMs - clock.nowMs()), "further token");
  }
}

function failureOf(error: unknown, watch: StallWatch, { clock, sentReasoning }: StepSource): ModelPart {
  if (watch.expired === undefined) return explainError(error, clock.nowMs(), sentReasoning);
  const message = `the model sent no ${watch.expired} in time`;
  return failurePart("inference/timeout", { message, retryable: true });
}

/** A provider may repeat our key in its message. */
function hideKey(part: ModelPart, apiKey: string | null): ModelPart {
  if (part.type !== "error" || apiKey === null || apiKey === "") return part;
  return { ...part, message: part.message.replaceAll(apiKey, "[key]") };
}
