/**
 * Builds one model step out of the chunks of its stream.
 *
 * Text and reasoning leave as they come. Calls are held back until the finish reason has been seen, so that nothing
 * of a stream that broke off can be taken for a call. A finish reason makes the step complete: what may follow it is
 * the usage and the end mark, and losing those is no reason to ask and pay for the answer again.
 */
import type { ModelPart, StepFinish, UsageRecord } from "@sand/agent-core";
import type { JsonObject, JsonValue } from "@sand/protocol";
import { type StreamLimits, unknownChunkMaxChars, unknownChunksMax } from "../limits.ts";
import { createTextJoiner } from "../safe-text.ts";
import { createCallAssembler } from "./assemble-calls.ts";
import { classifyFailure, type FailurePart, failurePart } from "./classify-failure.ts";
import { decideFinish } from "./decide-finish.ts";
import { type ChunkReading, readChunk } from "./read-chunk.ts";
import { createReasoningCollector } from "./reasoning-part.ts";

export interface StepAssembly {
  /** the parts that a chunk brings; a failure is the last part of the stream */
  accept(chunk: JsonValue): readonly ModelPart[];
  /** whether the finish reason has been seen */
  readonly finished: boolean;
  /** what is left when the stream is over */
  end(): readonly ModelPart[];
}

const noUsage: UsageRecord = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

type Delta = Extract<ChunkReading, { readonly kind: "delta" }>;

export function createStepAssembly(limits: StreamLimits, baseUrl: string): StepAssembly {
  const joinText = createTextJoiner();
  const joinReasoning = createTextJoiner();
  const assembler = createCallAssembler();
  const reasoning = createReasoningCollector(baseUrl);
  const unknown = createUnknownKeeper();
  const meter = createOutputMeter(limits);
  let hasText = false;
  let refused = false;
  let finish: string | null = null;
  let usage: UsageRecord = noUsage;

  function accept(chunk: JsonValue): readonly ModelPart[] {
    const reading = readChunk(chunk);
    switch (reading.kind) {
      case "delta":
        return acceptDelta(reading);
      case "failure":
        return [classifyFailure({ status: null, error: reading.error, retryAfterMs: null })];
      case "malformed":
        return [malformed(reading.what)];
      case "unknown":
        unknown.keep(reading.chunk);
        return [];
    }
  }

  function acceptDelta(delta: Delta): readonly ModelPart[] {
    for (const call of delta.calls) assembler.add(call);
    const excess = meter.add(delta, assembler.count);
    if (excess !== undefined) return [tooLarge(excess)];
    reasoning.add(delta.reasoning);
    hasText ||= delta.text !== "";
    refused ||= delta.refused;
    finish = delta.finish ?? finish;
    usage = delta.usage ?? usage;
    return textParts(joinReasoning.push(delta.reasoning.text), joinText.push(delta.text));
  }

  function end(): readonly ModelPart[] {
    const calls = assembler.calls();
    const verdict = decideFinish(finish, { refused, hasText, calls });
    const rest = textParts(joinReasoning.flush(), joinText.flush());
    if (verdict.kind === "failure") return [...rest, verdict.part];
    const kept = [reasoning.part(), ...unknown.parts].filter((part) => part !== undefined);
    return [
      ...rest,
      ...kept.map((part): ModelPart => ({ type: "raw", part })),
      ...calls.map(
        (call): ModelPart => ({ type: "tool-call", ...call, argsText: call.argsText.toWellFormed() }),
      ),
      finishPart(verdict.finish, usage),
    ];
  }

  return {
    accept,
    get finished() {
      return finish !== null;
    },
    end,
  };
}

interface OutputMeter {
  /** what there is too much of, once a limit is passed */
  add(delta: Delta, calls: number): string | undefined;
}

function createOutputMeter({ outputMaxChars, callsMax }: StreamLimits): OutputMeter {
  let chars = 0;
  return {
    add({ text, reasoning, calls }, callCount) {
      chars += text.length + reasoning.text.length;
      chars += calls.reduce((sum, call) => sum + call.args.length, 0);
      chars += reasoning.details.length === 0 ? 0 : JSON.stringify(reasoning.details).length;
      if (chars > outputMaxChars) return `more than ${outputMaxChars} characters`;
      return callCount > callsMax ? `more than ${callsMax} calls` : undefined;
    },
  };
}

interface UnknownKeeper {
  keep(chunk: JsonValue): void;
  readonly parts: readonly JsonObject[];
}

/** Keeps chunks of an unknown kind for whoever studies the step later; they are no reason to fail. */
function createUnknownKeeper(): UnknownKeeper {
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

function textParts(reasoning: string, text: string): readonly ModelPart[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning-delta" as const, text: reasoning }]),
    ...(text === "" ? [] : [{ type: "text-delta" as const, text }]),
  ];
}

function finishPart(finish: StepFinish, usage: UsageRecord): ModelPart {
  return { type: "finish", finish, usage };
}

function malformed(what: string): FailurePart {
  return failurePart("inference/malformed", {
    message: `the model's stream is malformed: ${what}`,
    retryable: true,
  });
}

function tooLarge(what: string): FailurePart {
  return failurePart("inference/malformed", { message: `the model's answer has ${what}`, retryable: false });
}
