/**
 * Says what a provider's failure means for us: a code, and whether the same request may succeed later.
 *
 * Decided by HTTP status first and by the error's type and code second. A status alone isn't enough: an account
 * without money answers 429 like a busy one, and providers report overload under several names.
 */
import type { ModelPart } from "@sand/agent-core";
import type { ErrorCode, JsonValue } from "@sand/protocol";
import { objectOf, textOf } from "../json-reading.ts";
import { messageMaxChars } from "../limits.ts";
import { makeSafeText } from "../safe-text.ts";

export type FailurePart = Extract<ModelPart, { readonly type: "error" }>;

export interface ProviderFailure {
  readonly status: number | null;
  /** the provider's error object, or whatever it sent in its place */
  readonly error: JsonValue;
  readonly retryAfterMs: number | null;
  /** whether the request gave reasoning back */
  readonly sentReasoning: boolean;
}

interface Verdict {
  readonly code: ErrorCode;
  readonly retryable: boolean;
}

const verdicts = {
  unauthorized: { code: "inference/unauthorized", retryable: false },
  refused: { code: "inference/refused", retryable: false },
  // Retryable, because the loop tries once more without the reasoning.
  badReasoning: { code: "inference/bad-reasoning", retryable: true },
  rateLimited: { code: "inference/rate-limited", retryable: true },
  overloaded: { code: "inference/overloaded", retryable: true },
  timeout: { code: "inference/timeout", retryable: true },
  unavailable: { code: "inference/unavailable", retryable: true },
} as const satisfies Record<string, Verdict>;

/**
 * what a refusal of reasoning that we gave back speaks of: a signature that another key made, a block out of its place
 */
const reasoningWords = /signature|thinking|reasoning|thought/iu;

/** names that mean the same under any status */
const byName: readonly (readonly [RegExp, Verdict])[] = [
  [/insufficient_quota|billing|credit|payment_required/iu, verdicts.refused],
  [/overloaded/iu, verdicts.overloaded],
];

/** names that decide when no status does, as inside a stream */
const byNameAlone: readonly (readonly [RegExp, Verdict])[] = [
  [/rate_?limit|too_many_requests/iu, verdicts.rateLimited],
  [/authentication|permission|invalid_api_key|unauthorized/iu, verdicts.unauthorized],
  [/invalid_request|not_found|context_length|content_filter/iu, verdicts.refused],
  [/timeout/iu, verdicts.timeout],
];

const byStatus = new Map<number, Verdict>([
  [401, verdicts.unauthorized],
  [403, verdicts.unauthorized],
  [408, verdicts.timeout],
  [409, verdicts.unavailable],
  [425, verdicts.unavailable],
  [429, verdicts.rateLimited],
  [504, verdicts.timeout],
  [529, verdicts.overloaded],
]);

export function classifyFailure(failure: ProviderFailure): FailurePart {
  const error = objectOf(failure.error);
  const names = [error.type, error.code, error.status].filter((name) => typeof name === "string").join(" ");
  // Inside a stream some providers put the HTTP status into the error's code.
  const status = failure.status ?? statusIn(error.code);
  const said = typeof failure.error === "string" ? failure.error : textOf(error.message);
  const verdict = decideVerdict(status, names);
  const isAboutReasoning = failure.sentReasoning && verdict === verdicts.refused && reasoningWords.test(said);
  const { code, retryable } = isAboutReasoning ? verdicts.badReasoning : verdict;
  return failurePart(code, {
    message: describe(code, status, said),
    retryable,
    retryAfterMs: failure.retryAfterMs,
  });
}

export function failurePart(
  code: ErrorCode,
  rest: { readonly message: string; readonly retryable: boolean; readonly retryAfterMs?: number | null },
): FailurePart {
  const { message, retryable, retryAfterMs } = rest;
  return { type: "error", code, message, retryable, retryAfterMs: retryAfterMs ?? null };
}

function statusIn(code: JsonValue | undefined): number | null {
  const status = typeof code === "string" && /^\d{3}$/u.test(code) ? Number(code) : code;
  return typeof status === "number" && status >= 400 && status < 600 ? status : null;
}

function decideVerdict(status: number | null, names: string): Verdict {
  const named = byName.find(([pattern]) => pattern.test(names))?.[1];
  if (named !== undefined) return named;
  if (status !== null)
    return byStatus.get(status) ?? (status >= 500 ? verdicts.unavailable : verdicts.refused);
  return byNameAlone.find(([pattern]) => pattern.test(names))?.[1] ?? verdicts.unavailable;
}

/** A refused credential is told without the provider's words: they may repeat a part of the key. */
function describe(code: ErrorCode, status: number | null, said: string): string {
  const prefix = status === null ? "the model provider failed" : `the model provider answered ${status}`;
  if (code === "inference/unauthorized") return `${prefix}: it refused our credential`;
  const words = makeSafeText(said).replaceAll(/\s+/gu, " ").trim().slice(0, messageMaxChars);
  return words === "" ? prefix : `${prefix}: ${words}`;
}
