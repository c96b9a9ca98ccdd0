/** When a failed model call is tried again. The count lies in the records, so a restart doesn't reset it. */
import { turnLimits } from "./limits.ts";

export interface ModelFailure {
  readonly retryable: boolean;
  /** the provider's wish in `ms`; honoured up to the cap */
  readonly retryAfterMs: number | null;
  /** failures of this step before this one */
  readonly earlierFailures: number;
}

/** The wall time of the next attempt in `ms`, or `null` when there is none. */
export function planRetry(failure: ModelFailure, nowMs: number): number | null {
  if (!failure.retryable || failure.earlierFailures + 1 >= turnLimits.modelFailuresMax) return null;
  const backoffMs = turnLimits.retryBaseMs * 2 ** failure.earlierFailures;
  return nowMs + Math.min(Math.max(failure.retryAfterMs ?? 0, backoffMs), turnLimits.retryMaxMs);
}
