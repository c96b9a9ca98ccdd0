/** Looks an execution up by its id, or says that there is none: typed, so that a caller can start it. */
import { BoxError } from "@sand/protocol";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";

export function findExecution(ledger: Ledger, executionId: string): TrackedExecution {
  const execution = ledger.find(executionId);
  if (execution === undefined) throw new BoxError("exec/unknown-execution", "no execution has this id");
  return execution;
}
