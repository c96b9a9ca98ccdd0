/**
 * What an adapter gives for each stream: it takes the provider's chunks and says which parts they amount to.
 *
 * The pieces that every wire format needs lie here too: the meter of the output, the keeper of unknown chunks, and
 * the parts that are made the same way.
 */
import type { ModelPart, UsageRecord } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";
import { type FailurePart, failurePart } from "../failures/classify-failure.ts";
import { type StreamLimits, unknownChunkMaxChars, unknownChunksMax } from "../limits.ts";

export interface StepAssembly {
  /** the parts that a chunk brings; a failure is the last part of the stream */
  accept(chunk: JsonValue): readonly ModelPart[];
  /** whether the answer has begun: signs of life before it don't count as the first token */
  readonly begun: boolean;
  /** whether the finish reason has been seen */
  readonly finished: boolean;
  /** what is left when the stream is over */
  end(): readonly ModelPart[];
}

export const noUsage: UsageRecord = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

export interface OutputMeter {
  /** what there is too much of, once a limit is passed */
  add(chars: number, calls: number): string | undefined;
}

export function createOutputMeter({ outputMaxChars, callsMax }: StreamLimits): OutputMeter {
  let sum = 0;
  return {
    add(chars, calls) {
      sum += chars;
      if (sum > outputMaxChars) return `more than ${outputMaxChars} characters`;
      return calls > callsMax ? `more than ${callsMax} calls` : undefined;
    },
  };
}

export interface UnknownKeeper {
  keep(chunk: JsonValue): void;
  readonly parts: readonly JsonObject[];
}

/** Keeps chunks of an unknown kind for whoever studies the step later; they are no reason to fail. */
export function createUnknownKeeper(): UnknownKeeper {
  const parts: JsonObject[] = [];
  return {
    parts,
    keep(chunk) {
      if (parts.length >= unknownChunksMax) return;
      const text = JSON.stringify(chunk).slice(0, unknownChunkMaxChars).toWellFormed();
      parts.push({ type: "unknown-chunk", text });
    },
  };
}

export function deltaParts(reasoning: string, text: string): readonly ModelPart[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning-delta" as const, text: reasoning }]),
    ...(text === "" ? [] : [{ type: "text-delta" as const, text }]),
  ];
}

export function malformed(what: string): FailurePart {
  return failurePart("inference/malformed", {
    message: `the model's stream is malformed: ${what}`,
    retryable: true,
  });
}

export function tooLarge(what: string): FailurePart {
  return failurePart("inference/malformed", { message: `the model's answer has ${what}`, retryable: false });
}
