/** Turns whatever the provider library throws into the failure part that ends our stream. */
import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import type { JsonValue } from "@sand/protocol";
import { NotAStreamError } from "../fetch-event-stream.ts";
import { objectOf } from "../json-reading.ts";
import { classifyFailure, type FailurePart, failurePart } from "./classify-failure.ts";
import { parseRetryAfter } from "./parse-retry-after.ts";

/** The body of a good answer ended before its end. */
export class BrokenStreamError extends Error {
  constructor(cause: unknown) {
    super("the connection broke off", { cause });
    this.name = "BrokenStreamError";
  }
}

export function explainError(error: unknown, nowMs: number, sentReasoning = false): FailurePart {
  if (APICallError.isInstance(error)) return explainCallError(error, nowMs, sentReasoning);
  if (error instanceof NotAStreamError) {
    // A page never becomes a stream; a JSON body may be a proxy's passing failure.
    const retryable = !error.contentType.startsWith("text/html");
    return failurePart("inference/malformed", { message: `${error.message}; check the base URL`, retryable });
  }
  if (error instanceof BrokenStreamError) return brokenOff();
  if (InvalidResponseDataError.isInstance(error)) {
    return failurePart("inference/malformed", {
      message: "the model's stream has a chunk that can't be read",
      retryable: true,
    });
  }
  const name = error instanceof Error ? error.name : typeof error;
  return failurePart("inference/unavailable", {
    message: `the request to the model provider failed (${name})`,
    retryable: true,
  });
}

function explainCallError(error: APICallError, nowMs: number, sentReasoning: boolean): FailurePart {
  const status = error.statusCode;
  if (status === undefined) {
    return failurePart("inference/unavailable", {
      message: `the model provider can't be reached: ${networkCode(error)}`,
      retryable: true,
    });
  }
  // A good status with an error is a connection that broke inside the body.
  if (status >= 200 && status < 300) return brokenOff();
  const retryAfterMs = parseRetryAfter(error.responseHeaders ?? {}, nowMs);
  const body = bodyError(error.responseBody ?? "");
  return classifyFailure({ status, error: body, retryAfterMs, sentReasoning });
}

function brokenOff(): FailurePart {
  return failurePart("inference/incomplete", {
    message: "the connection to the model broke off",
    retryable: true,
  });
}

/** The error inside a body: `{error: {...}}`, `{error: "…"}`, or the bare object of other servers. */
function bodyError(text: string): JsonValue {
  try {
    const body = objectOf(JSON.parse(text));
    return body.error ?? body;
  } catch {
    return {};
  }
}

/** The system's code of a network failure; its message may name addresses that are nobody's business. */
function networkCode(error: Error): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
  }
  return "no connection";
}
