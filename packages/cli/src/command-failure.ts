/**
 * Why a command ends without having done its work: the sentence for the person, what to do about it, and the exit
 * status for a script. Thrown anywhere below `main`, which alone prints it.
 *
 * It isn't a `BoxError`, because most of what it carries comes from a host that may be newer than we are: a code that
 * our table doesn't know must still be shown as received.
 */
import type { ExitName } from "./exit-codes.ts";

export interface CommandFailureOptions {
  readonly hint?: string;
  /** the gateway's `failureCode`, as received */
  readonly failureCode?: string;
  readonly cause?: unknown;
}

export class CommandFailure extends Error {
  readonly exit: ExitName;
  readonly hint: string | undefined;
  readonly failureCode: string | undefined;

  constructor(exit: ExitName, message: string, options: CommandFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CommandFailure";
    this.exit = exit;
    this.hint = options.hint;
    this.failureCode = options.failureCode;
  }
}
