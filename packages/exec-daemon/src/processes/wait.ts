/** Wait: answers when the execution is closed, or after the asked-for time with the state of that moment. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { WaitRequest, WaitResponseSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { limits } from "../limits.ts";
import { findExecution } from "./find-execution.ts";
import { toExecution } from "./to-execution.ts";

export function createWait(
  ledger: Ledger,
): (request: WaitRequest, signal: AbortSignal) => Promise<MessageInitShape<typeof WaitResponseSchema>> {
  return async (request, signal) => {
    const execution = findExecution(ledger, request.processId);
    const deadline = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.min(request.waitMs, limits.waitMaxMs)),
    ]);
    while (execution.closed === undefined && !deadline.aborted) {
      await execution.changes.after(execution.changes.version, limits.waitMaxMs, deadline);
    }
    return { execution: toExecution(execution) };
  };
}
