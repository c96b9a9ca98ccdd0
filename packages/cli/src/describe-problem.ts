/** What a person and a script are told about an error, whatever it is. A bug says that it is one. */
import { BoxError, errorCodes } from "@sand/protocol";
import { CommandFailure } from "./command-failure.ts";
import { exitCodes, exitNameOfStatus } from "./exit-codes.ts";

export interface Problem {
  readonly error: string;
  readonly hint?: string;
  readonly failureCode?: string;
  readonly exitCode: number;
}

export function describeProblem(error: unknown): Problem {
  if (error instanceof CommandFailure) {
    return {
      error: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(error.failureCode === undefined ? {} : { failureCode: error.failureCode }),
      exitCode: exitCodes[error.exit],
    };
  }
  if (error instanceof BoxError) {
    const exit = error.code === "config/invalid" ? "usage" : exitNameOfStatus(errorCodes[error.code].http);
    return {
      error: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      failureCode: error.code,
      exitCode: exitCodes[exit],
    };
  }
  const system = systemProblem(error);
  if (system !== undefined) return { error: system, exitCode: exitCodes.failed };
  return {
    error: `this is a fault of sand itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    exitCode: exitCodes.failed,
  };
}

/** Errors of the operating system speak for themselves: no permission, no space, no such folder. */
function systemProblem(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error && "code" in error ? error.message : undefined;
}
