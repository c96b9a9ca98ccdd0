/**
 * What goes wrong here has one form, so that both kinds of answers, RPC and plain HTTP, are made of it: Connect's
 * error. Ours come from the daemon's own services with their code in a header; a caller's mistakes are made here.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { BoxError, type ConnectCodeName, type ErrorCode, errorCodes } from "@sand/protocol";

const sandCodeHeader = "x-sand-code";

const codeByName = {
  invalid_argument: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  unimplemented: Code.Unimplemented,
  unavailable: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
  aborted: Code.Aborted,
  internal: Code.Internal,
} as const satisfies Record<ConnectCodeName, Code>;

/** Our own code of an error, where the daemon gave one. */
export function sandCodeOf(error: unknown): ErrorCode | undefined {
  if (error instanceof BoxError) return error.code;
  if (!(error instanceof ConnectError)) return undefined;
  const code = error.metadata.get(sandCodeHeader) ?? "";
  return isErrorCode(code) ? code : undefined;
}

/** The error as it leaves: without the headers of the answer that it came in, and without a stranger's text. */
export function toSurfaceError(error: unknown): ConnectError {
  const sandCode = sandCodeOf(error);
  if (error instanceof ConnectError) {
    const headers = sandCode === undefined ? {} : { [sandCodeHeader]: sandCode };
    return new ConnectError(error.rawMessage, error.code, headers, undefined, error);
  }
  if (error instanceof BoxError) {
    const row = errorCodes[error.code];
    const text = row.public ? error.message : "the daemon failed";
    return new ConnectError(
      text,
      codeByName[row.connect],
      { [sandCodeHeader]: error.code },
      undefined,
      error,
    );
  }
  return new ConnectError("the daemon failed", Code.Internal, undefined, undefined, error);
}

export function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

export function notFound(message: string): ConnectError {
  return new ConnectError(message, Code.NotFound);
}

const statusByCode: Readonly<Partial<Record<Code, number>>> = {
  [Code.InvalidArgument]: 400,
  [Code.FailedPrecondition]: 400,
  [Code.OutOfRange]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.Aborted]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Canceled]: 499,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
  [Code.DeadlineExceeded]: 504,
};

/** The status of a plain answer. */
export function httpStatusOf(error: unknown): number {
  const sandCode = sandCodeOf(error);
  if (sandCode !== undefined) return errorCodes[sandCode].http;
  return (error instanceof ConnectError ? statusByCode[error.code] : undefined) ?? 500;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}
