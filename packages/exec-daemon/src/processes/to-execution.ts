/** Puts an execution's records into the words of the wire. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type ExecutionSchema, ExecutionState, type ExitedSchema } from "@sand/protocol/exec";
import type { ExitFacts } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";

export function toExited(exit: ExitFacts): MessageInitShape<typeof ExitedSchema> {
  return {
    ...(exit.code === null ? {} : { code: exit.code }),
    ...(exit.signal === null ? {} : { signal: exit.signal }),
    timedOut: exit.timedOut,
    oomKilled: exit.oomKilled,
    reason: exit.reason,
    message: exit.message,
    endedAtMs: BigInt(exit.endedAtMs),
  };
}

export function toExecution(execution: TrackedExecution): MessageInitShape<typeof ExecutionSchema> {
  const { start, started, exit, closed } = execution;
  return {
    processId: start.executionId,
    state: stateOf(execution),
    pid: started?.pid ?? 0,
    pgid: started?.pgid ?? 0,
    startTime: started?.startTime ?? "",
    ...(exit?.outcome === "known" ? { exited: toExited(exit.exit) } : {}),
    unknownReason: exit?.outcome === "unknown" ? exit.reason : "",
    background: start.background,
    sandboxed: start.launch.sandboxed,
    acceptedAtMs: BigInt(start.acceptedAtMs),
    stdoutBytes: BigInt(closed?.stdoutBytes ?? 0),
    stderrBytes: BigInt(closed?.stderrBytes ?? 0),
    closed: closed !== undefined,
    leftOpen: closed?.leftOpen ?? false,
    lineage: start.lineage,
  };
}

function stateOf(execution: TrackedExecution): ExecutionState {
  if (execution.exit?.outcome === "known") return ExecutionState.EXITED;
  if (execution.exit?.outcome === "unknown") return ExecutionState.UNKNOWN;
  return execution.claim === undefined ? ExecutionState.PENDING : ExecutionState.RUNNING;
}
