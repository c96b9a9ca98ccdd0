/**
 * One call to the daemon: deadline, abort, and the way back from Connect's errors to ours.
 *
 * Every call of the daemon may be repeated without harm, so one that failed on its way is sent once more at once: a
 * kept connection often turns out to be dead only when it is used after the daemon was restarted.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";
import type { Refused } from "./box-files-port.ts";

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

const attemptsMax = 2;
const never = new AbortController().signal;

/** Resolves with the answer, or throws `BoxError` or the signal's reason. */
export async function callBox<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await call({ signal: signal ?? never, timeoutMs });
    } catch (error) {
      signal?.throwIfAborted();
      const failure = toBoxError(error);
      if (attempt === attemptsMax || failure.code !== "box/unavailable" || isTimeout(error)) throw failure;
    }
  }
}

/** As `callBox`, with what the daemon refuses as a value. That it can't be reached is still thrown. */
export async function askBox<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  call: (options: CallOptions) => Promise<T>,
): Promise<T | Refused> {
  try {
    return await callBox(timeoutMs, signal, call);
  } catch (error) {
    if (!(error instanceof BoxError) || error.code.startsWith("box/")) throw error;
    return { outcome: "refused", code: error.code, message: error.message };
  }
}

export function toBoxError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const failure = ConnectError.from(error);
  const said = failure.metadata.get("x-sand-code");
  if (said !== null && isErrorCode(said)) return new BoxError(said, failure.rawMessage, { cause: error });
  if (failure.code === Code.Unauthenticated) {
    const hint = "host and daemon must be given the same token";
    return new BoxError("box/unauthorized", "the exec-daemon does not accept our token", {
      cause: error,
      hint,
    });
  }
  // Without our code it isn't a verb's answer: the connection, or whatever else listens there.
  return new BoxError("box/unavailable", "the exec-daemon does not answer", { cause: error });
}

function isTimeout(error: unknown): boolean {
  return ConnectError.from(error).code === Code.DeadlineExceeded;
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
