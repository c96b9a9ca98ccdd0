/** Forget: removes an execution that is over, with its output. Afterwards its id is as if it had never been used. */
import { BoxError } from "@sand/protocol";
import type { ForgetRequest } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";

export async function forgetExecution(ledger: Ledger, request: ForgetRequest): Promise<{ existed: boolean }> {
  const execution = ledger.find(request.processId);
  if (execution === undefined) return { existed: false };
  if (execution.claim !== undefined && execution.closed === undefined) {
    throw new BoxError("exec/invalid", "the execution still runs: end it first");
  }
  await ledger.remove(execution);
  return { existed: true };
}
