/** Puts an execution's records into the words of the wire. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Execution, type ExecutionSchema, ExecutionState, type ExitedSchema } from "@sand/protocol/exec";
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

export function toExecution(execution: TrackedExecution): ExecutionInit {
  const { start, exit } = execution;
  return {
    processId: start.executionId,
    state: stateOf(execution),
    ...toIdentity(execution),
    ...(exit?.outcome === "known" ? { exited: toExited(exit.exit) } : {}),
    unknownReason: exit?.outcome === "unknown" ? exit.reason : "",
    background: start.background,
    sandboxed: start.launch.sandboxed,
    policyHash: start.launch.policyHash ?? "",
    acceptedAtMs: BigInt(start.acceptedAtMs),
    ...toClosing(execution),
    lineage: start.lineage,
    labels: { ...start.labels },
  };
}

type ExecutionInit = MessageInitShape<typeof ExecutionSchema>;

/** All zero and empty when no process was started. */
export function toIdentity(execution: TrackedExecution): { pid: number; pgid: number; startTime: string } {
  const { pid = 0, pgid = 0, startTime = "" } = execution.started ?? {};
  return { pid, pgid, startTime };
}

type Closing = Pick<Execution, "stdoutBytes" | "stderrBytes" | "closed" | "leftOpen">;

function toClosing({ closed }: TrackedExecution): Closing {
  const { stdoutBytes = 0, stderrBytes = 0, leftOpen = false } = closed ?? {};
  const isClosed = closed !== undefined;
  return { stdoutBytes: BigInt(stdoutBytes), stderrBytes: BigInt(stderrBytes), closed: isClosed, leftOpen };
}

function stateOf(execution: TrackedExecution): ExecutionState {
  if (execution.exit?.outcome === "known") return ExecutionState.EXITED;
  if (execution.exit?.outcome === "unknown") return ExecutionState.UNKNOWN;
  return execution.claim === undefined ? ExecutionState.PENDING : ExecutionState.RUNNING;
}
