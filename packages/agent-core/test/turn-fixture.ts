/** Records for tests: the shortest journal that a test needs, with ids that can be read. */
import {
  brandId,
  type CallId,
  type ClientNonce,
  type EntryId,
  type ExecutionId,
  type PromptId,
  type RequestId,
  type TurnId,
} from "@sand/protocol";
import type { PromptRow, WhenBusy } from "../src/store-port.ts";
import type { Provenance, StepFinish, ToolOutcome, TurnRecord } from "../src/turn-records.ts";

export const turnId = brandId<TurnId>("t1");
export const provenance: Provenance = { origin: "user", trust: "trusted", lineage: [] };
const usage = {
  inputTokens: 1,
  outputTokens: 1,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

export function started(): TurnRecord {
  return { kind: "turnStarted", turnId, generation: 1, atMs: 0, provenance };
}

export function delivered(name: string, beforeStep = 1): TurnRecord {
  const prompt = {
    promptId: brandId<PromptId>(name),
    entryId: brandId<EntryId>(`prompt-${name}`),
    nonce: brandId<ClientNonce>(`n-${name}`),
    text: name,
    provenance,
  };
  return { kind: "promptDelivered", prompt, beforeStep, atMs: 0 };
}

export function prepared(step: number, attempt = 1): TurnRecord {
  return {
    kind: "stepPrepared",
    step,
    attempt,
    requestId: brandId<RequestId>(`r${step}.${attempt}`),
    requestHash: "h",
    atMs: 0,
  };
}

export function failed(step: number, retryAtMs: number | null, attempt = 1): TurnRecord {
  return {
    kind: "stepFailed",
    step,
    attempt,
    code: "inference/overloaded",
    message: "overloaded",
    retryAtMs,
    atMs: 0,
  };
}

export interface CompletedStep {
  readonly text?: string;
  readonly finish?: StepFinish;
  /** names of the calls; the provider's id is `p-<name>` */
  readonly calls?: readonly string[];
}

export function callIdOf(step: number, index: number): CallId {
  return brandId<CallId>(`t1.s${step}.c${index}`);
}

export function completed(step: number, { text = "", finish, calls = [] }: CompletedStep = {}): TurnRecord {
  return {
    kind: "stepCompleted",
    step,
    attempt: 1,
    finish: finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
    text,
    answerEntryId: null,
    calls: calls.map((name, index) => ({
      callId: callIdOf(step, index),
      providerCallId: `p-${name}`,
      entryId: brandId<EntryId>(callIdOf(step, index)),
      name,
      argsText: "{}",
    })),
    usage,
    provider: "scripted",
    model: "m",
    rawParts: [],
    atMs: 0,
  };
}

export function intended(step: number, index: number): TurnRecord {
  return {
    kind: "toolIntended",
    callId: callIdOf(step, index),
    executionId: brandId<ExecutionId>(`ex-${step}-${index}`),
    replay: "keyed",
    atMs: 0,
  };
}

export function settledCall(step: number, index: number, outcome: ToolOutcome = "ok"): TurnRecord {
  return {
    kind: "toolSettled",
    result: { callId: callIdOf(step, index), outcome, text: outcome, outputHandle: null, details: {} },
    atMs: 0,
  };
}

export function pendingPrompt(name: string, whenBusy: WhenBusy = "steer"): PromptRow {
  return {
    promptId: brandId<PromptId>(name),
    nonce: brandId<ClientNonce>(`n-${name}`),
    digest: name,
    entryId: brandId<EntryId>(`prompt-${name}`),
    text: name,
    whenBusy,
    provenance,
    acceptedAtMs: 0,
    turnId: null,
  };
}
