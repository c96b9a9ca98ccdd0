/** Whether something that was caught is an operating error of one code. */
import { BoxError, type ErrorCode } from "@sand/protocol";

export function isBoxErrorOf(error: unknown, code: ErrorCode): boolean {
  return error instanceof BoxError && error.code === code;
}
