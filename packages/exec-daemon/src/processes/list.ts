/** List: every execution that is known, running or finished. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListResponseSchema } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { toExecution } from "./to-execution.ts";

export function listExecutions(ledger: Ledger): MessageInitShape<typeof ListResponseSchema> {
  return { executions: ledger.list().map(toExecution) };
}
