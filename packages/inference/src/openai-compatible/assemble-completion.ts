/**
 * Builds one model step out of the chunks of its stream.
 *
 * Text and reasoning leave as they come. Calls are held back until the finish reason has been seen, so that nothing
 * of a stream that broke off can be taken for a call. A finish reason makes the step complete: what may follow it is
 * the usage and the end mark, and losing those is no reason to ask and pay for the answer again.
 */
import type { ModelPart, UsageRecord } from "@sand/agent-core";
import type { JsonValue } from "@sand/protocol";
import { classifyFailure } from "../failures/classify-failure.ts";
import type { StreamLimits } from "../limits.ts";
import { createTextJoiner } from "../safe-text.ts";
import { decideFinish } from "../steps/decide-finish.ts";
import {
  createOutputMeter,
  createUnknownKeeper,
  deltaParts,
  malformed,
  noUsage,
  type StepAssembly,
  tooLarge,
} from "../steps/step-assembly.ts";
import { createCallAssembler } from "./assemble-calls.ts";
import { type ChunkReading, readChunk } from "./read-chunk.ts";
import { createReasoningCollector } from "./reasoning-part.ts";

export interface CompletionOrigin {
  readonly baseUrl: string;
  readonly sentReasoning: boolean;
}

type Delta = Extract<ChunkReading, { readonly kind: "delta" }>;

export function createCompletionAssembly(limits: StreamLimits, origin: CompletionOrigin): StepAssembly {
  const joinText = createTextJoiner();
  const joinReasoning = createTextJoiner();
  const assembler = createCallAssembler();
  const reasoning = createReasoningCollector(origin.baseUrl);
  const unknown = createUnknownKeeper();
  const meter = createOutputMeter(limits);
  let begun = false;
  let hasText = false;
  let refused = false;
  let finish: string | null = null;
  let usage: UsageRecord = noUsage;

  function accept(chunk: JsonValue): readonly ModelPart[] {
    begun = true;
    const reading = readChunk(chunk);
    switch (reading.kind) {
      case "delta":
        return acceptDelta(reading);
      case "failure":
        return [
          classifyFailure({
            status: null,
            error: reading.error,
            retryAfterMs: null,
            sentReasoning: origin.sentReasoning,
          }),
        ];
      case "malformed":
        return [malformed(reading.what)];
      case "unknown":
        unknown.keep(reading.chunk);
        return [];
    }
  }

  function acceptDelta(delta: Delta): readonly ModelPart[] {
    for (const call of delta.calls) assembler.add(call);
    const excess = meter.add(sizeOf(delta), assembler.count);
    if (excess !== undefined) return [tooLarge(excess)];
    reasoning.add(delta.reasoning);
    hasText ||= delta.text !== "";
    refused ||= delta.refused;
    finish = delta.finish ?? finish;
    usage = delta.usage ?? usage;
    return deltaParts(joinReasoning.push(delta.reasoning.text), joinText.push(delta.text));
  }

  function end(): readonly ModelPart[] {
    const calls = assembler.calls();
    const verdict = decideFinish(finish, { refused, hasText, calls });
    const rest = deltaParts(joinReasoning.flush(), joinText.flush());
    if (verdict.kind === "failure") return [...rest, verdict.part];
    const kept = [reasoning.part(), ...unknown.parts].filter((part) => part !== undefined);
    return [
      ...rest,
      ...kept.map((part): ModelPart => ({ type: "raw", part })),
      ...calls.map(
        (call): ModelPart => ({ type: "tool-call", ...call, argsText: call.argsText.toWellFormed() }),
      ),
      { type: "finish", finish: verdict.finish, usage },
    ];
  }

  return {
    accept,
    get begun() {
      return begun;
    },
    get finished() {
      return finish !== null;
    },
    end,
  };
}

function sizeOf({ text, reasoning, calls }: Delta): number {
  const args = calls.reduce((sum, call) => sum + call.args.length, 0);
  const details = reasoning.details.length === 0 ? 0 : JSON.stringify(reasoning.details).length;
  return text.length + reasoning.text.length + args + details;
}
