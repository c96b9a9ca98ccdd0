/**
 * Decides from a finish reason and the content what a step ended as.
 *
 * Reasons contradict the content in practice: `stop` behind tool calls, `tool_calls` without any, names of other
 * APIs. What came decides, and a contradiction that means lost content is no finish.
 */
import type { StepFinish } from "@sand/agent-core";
import { type FailurePart, failurePart } from "../failures/classify-failure.ts";

export interface StepContent {
  readonly refused: boolean;
  readonly hasText: boolean;
  readonly calls: readonly { readonly name: string }[];
}

export type FinishVerdict =
  | { readonly kind: "finish"; readonly finish: StepFinish }
  | { readonly kind: "failure"; readonly part: FailurePart };

const meanings = new Map<string, StepFinish | "error">([
  ["stop", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["eos", "stop"],
  ["tool_calls", "tool-calls"],
  ["tool_use", "tool-calls"],
  ["function_call", "tool-calls"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["content_filter", "content-filter"],
  ["refusal", "content-filter"],
  ["error", "error"],
]);

export function decideFinish(reason: string | null, content: StepContent): FinishVerdict {
  if (reason === null) return incomplete("ended without a finish reason");
  if (content.calls.some((call) => call.name === "")) return malformed("has a tool call without a name");
  const meaning = meanings.get(reason) ?? "other";
  switch (meaning) {
    case "error":
      return failed();
    case "stop":
      if (content.refused) return finished("content-filter");
      return finished(content.calls.length > 0 ? "tool-calls" : "stop");
    case "tool-calls":
      return content.calls.length > 0
        ? finished("tool-calls")
        : incomplete("announced tool calls and sent none");
    case "other":
      if (!content.hasText && content.calls.length === 0) return incomplete("ended without content");
      return finished("other");
    case "length":
    case "content-filter":
      return finished(meaning);
  }
}

function finished(finish: StepFinish): FinishVerdict {
  return { kind: "finish", finish };
}

function incomplete(how: string): FinishVerdict {
  const message = `the model's stream ${how}`;
  return { kind: "failure", part: failurePart("inference/incomplete", { message, retryable: true }) };
}

function malformed(how: string): FinishVerdict {
  const message = `the model's stream ${how}`;
  return { kind: "failure", part: failurePart("inference/malformed", { message, retryable: true }) };
}

function failed(): FinishVerdict {
  const message = "the model provider reported a failure at the end of its stream";
  return { kind: "failure", part: failurePart("inference/unavailable", { message, retryable: true }) };
}
