/**
 * Builds one model step out of the events of a messages stream.
 *
 * Text and reasoning leave as they come. Calls are held back until the stop reason has been seen, so that nothing of
 * a stream that broke off can be taken for a call. A stop reason makes the step complete: behind it comes the end
 * mark alone.
 */
import type { ModelPart, UsageRecord } from "@sand/agent-core";
import type { JsonValue } from "@sand/protocol";
import { classifyFailure } from "../failures/classify-failure.ts";
import type { StreamLimits } from "../limits.ts";
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
import { type BlockTexts, createBlockCollector } from "./collect-blocks.ts";
import { type BlockDelta, type BlockStart, readEvent } from "./read-event.ts";
import { writeReasoningPart } from "./reasoning-part.ts";

export interface MessageOrigin {
  readonly baseUrl: string;
  readonly sentReasoning: boolean;
}

export function createMessageAssembly(limits: StreamLimits, origin: MessageOrigin): StepAssembly {
  const blocks = createBlockCollector();
  const unknown = createUnknownKeeper();
  const meter = createOutputMeter(limits);
  let begun = false;
  let hasText = false;
  let stopReason: string | null = null;
  let usage: UsageRecord = noUsage;

  function accept(event: JsonValue): readonly ModelPart[] {
    const reading = readEvent(event);
    switch (reading.kind) {
      case "message":
        stopReason = reading.stopReason ?? stopReason;
        usage = { ...usage, ...reading.usage };
        begun ||= stopReason !== null;
        return [];
      case "start":
        return acceptPiece(sizeOfStart(reading.block), () => blocks.start(reading.index, reading.block));
      case "delta":
        return acceptPiece(sizeOfDelta(reading.delta), () => blocks.add(reading.index, reading.delta));
      case "stop":
        return show(blocks.flush());
      case "alive":
        return [];
      case "failure":
        return [classifyFailure({ status: null, retryAfterMs: null, ...origin, error: reading.error })];
      case "unknown":
        unknown.keep(reading.event);
        return [];
    }
  }

  function acceptPiece(chars: number, take: () => BlockTexts | undefined): readonly ModelPart[] {
    begun = true;
    const texts = take();
    if (texts === undefined) return [malformed("a piece of a call that never began")];
    const excess = meter.add(chars, blocks.callCount);
    return excess === undefined ? show(texts) : [tooLarge(excess)];
  }

  function show({ text, reasoning }: BlockTexts): readonly ModelPart[] {
    hasText ||= text !== "";
    return deltaParts(reasoning, text);
  }

  function end(): readonly ModelPart[] {
    const rest = show(blocks.flush());
    const calls = blocks.calls();
    const verdict = decideFinish(stopReason, { refused: false, hasText, calls });
    if (verdict.kind === "failure") return [...rest, verdict.part];
    const reasoning = writeReasoningPart(blocks.layout(), origin.baseUrl);
    const kept = [reasoning, ...unknown.parts].filter((part) => part !== undefined);
    return [
      ...rest,
      ...kept.map((part): ModelPart => ({ type: "raw", part })),
      ...calls.map((call): ModelPart => ({ type: "tool-call", ...call })),
      { type: "finish", finish: verdict.finish, usage },
    ];
  }

  return {
    accept,
    get begun() {
      return begun;
    },
    get finished() {
      return stopReason !== null;
    },
    end,
  };
}

function sizeOfStart(block: BlockStart): number {
  switch (block.type) {
    case "text":
      return block.text.length;
    case "thinking":
      return block.thinking.length + block.signature.length;
    case "redacted":
      return block.data.length;
    case "call":
      return JSON.stringify(block.input).length;
  }
}

function sizeOfDelta(delta: BlockDelta): number {
  switch (delta.type) {
    case "text":
    case "args":
      return delta.text.length;
    case "thinking":
      return delta.thinking.length;
    case "signature":
      return delta.signature.length;
  }
}
