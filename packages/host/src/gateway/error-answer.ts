/**
 * What a client is told when a request fails: one of the five places where errors are caught.
 *
 * The body is `{error, failureCode}` and never holds a cause or a stack. A message that isn't public stays in the log,
 * which finds it by the request's id.
 */
import { BoxError, type ErrorCode, errorCodes } from "@sand/protocol";

export interface ErrorAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: { readonly error: string; readonly failureCode: ErrorCode };
}

export function toErrorAnswer(error: unknown): ErrorAnswer {
  const known = asBoxError(error);
  const row = errorCodes[known.code];
  const text = row.public ? known.message : "internal error";
  return { status: row.http, code: known.code, body: { error: text, failureCode: known.code } };
}

/** Node has no name for a full quota (EDQUOT on Linux). */
const fullQuota = "Unknown system error -122";
/** What the operating system says of a disk that is full, broken or read-only, or of a process out of descriptors. */
const diskFaults: ReadonlySet<string> = new Set([
  fullQuota,
  "EDQUOT",
  "EIO",
  "EMFILE",
  "ENFILE",
  "ENOSPC",
  "EROFS",
]);

/** Names what the HTTP library refused; anything else is a bug. */
function asBoxError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const { code, statusCode } = libraryFields(error);
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new BoxError("gateway/body-too-large", "the body is too large");
  if (code === "FST_ERR_BAD_URL") return new BoxError("gateway/bad-request", "the address is malformed");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new BoxError("gateway/bad-request", "the request is malformed");
  }
  if (code !== undefined && diskFaults.has(code)) {
    return new BoxError("store/unavailable", "the data root can't be written or read now", { cause: error });
  }
  return new BoxError("gateway/internal", "internal error", { cause: error });
}

function libraryFields(error: unknown): { readonly code?: string; readonly statusCode?: number } {
  if (!(error instanceof Error)) return {};
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const statusCode =
    "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : undefined;
  return { ...(code === undefined ? {} : { code }), ...(statusCode === undefined ? {} : { statusCode }) };
}
