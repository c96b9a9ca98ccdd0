/**
 * The one place where what a verb throws becomes an answer. Our code travels beside Connect's in `x-sand-code`, so
 * that the host gets back the error that was meant. A bug answers `internal` and nothing of its text.
 */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { Logger } from "@sand/node-kit";
import { BoxError, type ConnectCodeName, type ErrorCode, errorCodes } from "@sand/protocol";

const sandCodeHeader = "x-sand-code";

const connectCodes = {
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

/** how deep a cause is looked for */
const causesMax = 4;

/** Records and journals are written in many places, and a full disk is no bug of any of them. */
function isOfFullDisk(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth === causesMax) return false;
  const isFull = "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
  return isFull || isOfFullDisk(error.cause, depth + 1);
}

function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const isTold = error instanceof BoxError && errorCodes[error.code].connect !== "internal";
  if (!isTold && isOfFullDisk(error)) return failure("file/no-space", "there is no space left", error);
  if (!(error instanceof BoxError)) return failure("exec/internal", "the daemon failed", error);
  return failure(error.code, errorCodes[error.code].public ? error.message : "the daemon failed", error);
}

function failure(code: ErrorCode, message: string, cause: unknown): ConnectError {
  return new ConnectError(
    message,
    connectCodes[errorCodes[code].connect],
    { [sandCodeHeader]: code },
    undefined,
    cause,
  );
}

/** What the caller of `method` is told; what is a bug of ours is logged as well. */
export function translateError(log: Logger, error: unknown, method: string): ConnectError {
  const answer = toConnectError(error);
  if (answer.code === Code.Internal)
    log.error({ event: "rpc.failed", method, err: error }, "a call failed unexpectedly");
  return answer;
}

export function createErrorInterceptor(log: Logger): Interceptor {
  const translate = (error: unknown, method: string): ConnectError => translateError(log, error, method);

  async function* translateStream<T>(messages: AsyncIterable<T>, method: string): AsyncGenerator<T> {
    try {
      yield* messages;
    } catch (error) {
      throw translate(error, method);
    }
  }

  return (next) => async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: translateStream(response.message, method) } : response;
    } catch (error) {
      throw translate(error, method);
    }
  };
}
