/** How a command fails for its caller, and what the caller may do about it. */
import { errorRetries } from "./gen/api.ts";

/** `same_nonce`: the same request may be sent again; with a nonce it has its effect once */
export type Retry = "never" | "same_nonce" | "later";

export interface GatewayErrorFields {
  /** HTTP status; `null` when no whole answer came, so that what became of the request isn't known */
  readonly status: number | null;
  readonly failureCode: string | null;
  readonly cause?: unknown;
}

export class GatewayError extends Error {
  readonly status: number | null;
  readonly failureCode: string | null;
  readonly retry: Retry;

  constructor(message: string, { status, failureCode, cause }: GatewayErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "GatewayError";
    this.status = status;
    this.failureCode = failureCode;
    this.retry = retryOf(status, failureCode);
  }
}

const retries: ReadonlyMap<string, Retry> = new Map(Object.entries(errorRetries));

/** A host that doesn't name a code of ours is judged by its status. */
function retryOf(status: number | null, failureCode: string | null): Retry {
  const known = failureCode === null ? undefined : retries.get(failureCode);
  if (known !== undefined) return known;
  if (status === 429) return "later";
  return status !== null && status >= 400 && status < 500 ? "never" : "same_nonce";
}
