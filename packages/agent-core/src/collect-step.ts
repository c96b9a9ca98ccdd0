/**
 * Collects the parts of one model stream into a step.
 *
 * INV-8: no finish part, no step. A stream that ends without one is `incomplete`, whatever it had said before. A finish that
 * stands for "other" counts only with content. Repeated and missing call ids are left to the committer, which mints.
 */
import type { ErrorCode, JsonObject } from "@sand/protocol";
import { turnLimits } from "./limits.ts";
import type { ModelPart } from "./model-port.ts";
import type { StepFinish, UsageRecord } from "./turn-records.ts";

export interface ReceivedCall {
  readonly providerCallId: string | null;
  readonly name: string;
  readonly argsText: string;
}

export type CollectedStep =
  | {
      readonly kind: "completed";
      readonly finish: StepFinish;
      readonly text: string;
      readonly calls: readonly ReceivedCall[];
      readonly rawParts: readonly JsonObject[];
      readonly usage: UsageRecord;
    }
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly retryAfterMs: number | null;
    };

export interface StepCollector {
  add(part: ModelPart): void;
  /** what the parts so far amount to if the stream is over */
  result(): CollectedStep;
}

const incomplete: CollectedStep = {
  kind: "failed",
  code: "inference/incomplete",
  message: "the model's stream ended before it was finished",
  retryable: true,
  retryAfterMs: null,
};

export function createStepCollector(): StepCollector {
  const texts: string[] = [];
  const calls: ReceivedCall[] = [];
  const rawParts: JsonObject[] = [];
  let end: Extract<ModelPart, { type: "finish" | "error" }> | undefined;

  function add(part: ModelPart): void {
    switch (part.type) {
      case "text-delta":
        texts.push(part.text);
        return;
      case "reasoning-delta":
        return;
      case "tool-call":
        // One more than the limit is enough to tell that there were too many; the rest costs memory only.
        if (calls.length <= turnLimits.callsPerStepMax) calls.push(part);
        return;
      case "raw":
        rawParts.push(part.part);
        return;
      case "finish":
      case "error":
        end ??= part;
    }
  }

  function result(): CollectedStep {
    if (end === undefined) return incomplete;
    if (end.type === "error") {
      const { code, message, retryable, retryAfterMs } = end;
      return { kind: "failed", code, message, retryable, retryAfterMs };
    }
    const text = texts.join("");
    if (end.finish === "other" && text === "" && calls.length === 0) return incomplete;
    return { kind: "completed", finish: end.finish, text, calls, rawParts, usage: end.usage };
  }

  return { add, result };
}
