/**
 * The one error class and the one table of codes. A code without all its columns doesn't compile.
 *
 * Expected outcomes (a conflict, an approval denied) are returned as tagged unions. Operating errors are thrown as
 * `BoxError` with their cause. Bugs throw `InvariantError`.
 */

/** the names of Connect's codes that we answer with */
export type ConnectCodeName =
  | "invalid_argument"
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "resource_exhausted"
  | "unimplemented"
  | "unavailable"
  | "deadline_exceeded"
  | "aborted"
  | "internal";

export interface ErrorRow {
  /** HTTP status of the gateway's answer */
  readonly http: number;
  readonly connect: ConnectCodeName;
  /** what a client may do: never send it again, send it with the same nonce, or try later */
  readonly retry: "never" | "same_nonce" | "later";
  /** whether the message may leave the process */
  readonly public: boolean;
}

export const errorCodes = {
  "gateway/bad-request": { http: 400, connect: "invalid_argument", retry: "never", public: true },
  "gateway/unsafe-agent-id": { http: 400, connect: "invalid_argument", retry: "never", public: true },
  "gateway/unauthorized": { http: 401, connect: "unauthenticated", retry: "never", public: true },
  "gateway/browser-origin": { http: 403, connect: "permission_denied", retry: "never", public: true },
  "gateway/untrusted-host": { http: 403, connect: "permission_denied", retry: "never", public: true },
  "gateway/not-found": { http: 404, connect: "not_found", retry: "never", public: true },
  "gateway/unknown-method": { http: 404, connect: "unimplemented", retry: "never", public: true },
  "gateway/agent-not-found": { http: 404, connect: "not_found", retry: "never", public: true },
  "gateway/agent-limit": { http: 409, connect: "resource_exhausted", retry: "never", public: true },
  "gateway/nonce-conflict": { http: 409, connect: "already_exists", retry: "never", public: true },
  "gateway/body-too-large": { http: 413, connect: "resource_exhausted", retry: "never", public: true },
  "gateway/too-many-streams": { http: 429, connect: "resource_exhausted", retry: "later", public: true },
  "gateway/internal": { http: 500, connect: "internal", retry: "same_nonce", public: false },
  "gateway/not-implemented": { http: 501, connect: "unimplemented", retry: "never", public: true },
  "host/shutting-down": { http: 503, connect: "unavailable", retry: "same_nonce", public: true },
  "host/overloaded": { http: 503, connect: "resource_exhausted", retry: "same_nonce", public: true },
  "host/locked": { http: 500, connect: "failed_precondition", retry: "never", public: true },
  "config/invalid": { http: 500, connect: "failed_precondition", retry: "never", public: true },
  "store/unavailable": { http: 503, connect: "unavailable", retry: "same_nonce", public: true },
  "store/damaged": { http: 503, connect: "unavailable", retry: "never", public: true },
  "store/newer-schema": { http: 503, connect: "failed_precondition", retry: "never", public: true },
  "box-store/not-configured": { http: 409, connect: "failed_precondition", retry: "never", public: true },
  "box-store/not-found": { http: 404, connect: "not_found", retry: "never", public: true },
  "box-store/owned-by-other": { http: 409, connect: "aborted", retry: "never", public: true },
  "box-store/incomplete": { http: 409, connect: "failed_precondition", retry: "never", public: true },
  "box-store/busy": { http: 409, connect: "aborted", retry: "later", public: true },
  "box-store/refused": { http: 502, connect: "failed_precondition", retry: "never", public: true },
  "box-store/damaged": { http: 502, connect: "failed_precondition", retry: "never", public: true },
  "box-store/unavailable": { http: 503, connect: "unavailable", retry: "later", public: true },
  "archive/damaged": { http: 422, connect: "invalid_argument", retry: "never", public: true },
  "archive/newer-version": { http: 422, connect: "failed_precondition", retry: "never", public: true },
  "archive/refused": { http: 422, connect: "invalid_argument", retry: "never", public: true },
  "turn/not-found": { http: 404, connect: "not_found", retry: "never", public: true },
  "turn/superseded": { http: 409, connect: "aborted", retry: "never", public: true },
  "turn/already-settled": { http: 409, connect: "already_exists", retry: "never", public: true },
  "turn/step-limit": { http: 500, connect: "aborted", retry: "never", public: true },
  "turn/no-progress": { http: 500, connect: "aborted", retry: "never", public: true },
  "turn/resume-exhausted": { http: 500, connect: "aborted", retry: "never", public: true },
  "inference/unavailable": { http: 503, connect: "unavailable", retry: "later", public: true },
  "inference/rate-limited": { http: 429, connect: "resource_exhausted", retry: "later", public: true },
  "inference/overloaded": { http: 529, connect: "unavailable", retry: "later", public: true },
  "inference/unauthorized": { http: 502, connect: "unauthenticated", retry: "never", public: true },
  "inference/refused": { http: 502, connect: "invalid_argument", retry: "never", public: true },
  "inference/incomplete": { http: 502, connect: "aborted", retry: "later", public: true },
  "inference/timeout": { http: 504, connect: "deadline_exceeded", retry: "later", public: true },
  "inference/bad-reasoning": { http: 502, connect: "invalid_argument", retry: "later", public: true },
  "inference/malformed": { http: 502, connect: "internal", retry: "later", public: true },
  "box/unavailable": { http: 503, connect: "unavailable", retry: "later", public: true },
  "box/unauthorized": { http: 503, connect: "unauthenticated", retry: "never", public: true },
  "exec/invalid": { http: 400, connect: "invalid_argument", retry: "never", public: true },
  "exec/unknown-execution": { http: 404, connect: "not_found", retry: "never", public: true },
  "exec/unknown-session": { http: 404, connect: "not_found", retry: "never", public: true },
  "exec/session-busy": { http: 409, connect: "failed_precondition", retry: "later", public: true },
  "exec/internal": { http: 500, connect: "internal", retry: "later", public: false },
  "exec/key-conflict": { http: 409, connect: "already_exists", retry: "never", public: true },
  "exec/too-many": { http: 429, connect: "resource_exhausted", retry: "later", public: true },
  "exec/sandbox-unavailable": { http: 412, connect: "failed_precondition", retry: "never", public: true },
  "exec/spawn-failed": { http: 500, connect: "failed_precondition", retry: "never", public: true },
  "exec/unsupported": { http: 501, connect: "unimplemented", retry: "never", public: true },
  "file/not-found": { http: 404, connect: "not_found", retry: "never", public: true },
  "file/not-a-file": { http: 400, connect: "failed_precondition", retry: "never", public: true },
  "file/not-a-directory": { http: 400, connect: "failed_precondition", retry: "never", public: true },
  "file/exists": { http: 409, connect: "already_exists", retry: "never", public: true },
  "file/not-empty": { http: 409, connect: "failed_precondition", retry: "never", public: true },
  "file/watch-limit": { http: 429, connect: "resource_exhausted", retry: "never", public: true },
  "file/too-large": { http: 413, connect: "resource_exhausted", retry: "never", public: true },
  "file/precondition": { http: 412, connect: "failed_precondition", retry: "never", public: true },
  "file/denied": { http: 403, connect: "permission_denied", retry: "never", public: true },
  "file/no-space": { http: 507, connect: "resource_exhausted", retry: "later", public: true },
  "file/io": { http: 500, connect: "internal", retry: "later", public: true },
  "mcp/unknown-server": { http: 404, connect: "not_found", retry: "never", public: true },
  "mcp/login-needed": { http: 401, connect: "failed_precondition", retry: "never", public: true },
  "mcp/too-large": { http: 413, connect: "resource_exhausted", retry: "never", public: true },
  "mcp/refused": { http: 502, connect: "failed_precondition", retry: "never", public: true },
  "mcp/malformed": { http: 502, connect: "aborted", retry: "later", public: true },
  "mcp/unavailable": { http: 503, connect: "unavailable", retry: "later", public: true },
  "mcp/timeout": { http: 504, connect: "deadline_exceeded", retry: "later", public: true },
  "terminal/unknown": { http: 404, connect: "not_found", retry: "never", public: true },
  "terminal/origin": { http: 403, connect: "permission_denied", retry: "never", public: true },
  "terminal/lease-held": { http: 409, connect: "failed_precondition", retry: "later", public: true },
  "terminal/not-writer": { http: 409, connect: "failed_precondition", retry: "never", public: true },
  "terminal/ended": { http: 410, connect: "failed_precondition", retry: "never", public: true },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorCodes;

export interface BoxErrorOptions {
  readonly cause?: unknown;
  /** what the reader can do about it; shown to operators */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An operating error with a code from the table. `message` is for people; programs look at `code`. */
export class BoxError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: BoxErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "BoxError";
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

/** A bug: something that must hold did not. */
export class InvariantError extends Error {
  constructor(mustHold: string) {
    super(`invariant broken: ${mustHold}`);
    this.name = "InvariantError";
  }
}

export function invariant(condition: unknown, mustHold: string): asserts condition {
  if (!condition) throw new InvariantError(mustHold);
}
