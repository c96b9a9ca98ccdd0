/**
 * Signal: to the leader, its group, or all that descends from it, by pid and start time, so that a reused pid can't be
 * hit. After the leader's end only what carries the execution's marker is found and signalled.
 *
 * With `kill_after_ms`, whoever of those is still there after that time gets KILL.
 */
import { constants } from "node:os";
import { isSameProcess } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import { type SignalRequest, SignalScope } from "@sand/protocol/exec";
import type { Ledger } from "../ledger/ledger.ts";
import { stopUnstarted } from "../ledger/stop-unstarted.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { findExecution } from "./find-execution.ts";
import { findDescendants, findMarked, sendSignal } from "./process-tree.ts";

export interface SignalDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly run: (name: string, work: (signal: AbortSignal) => Promise<void>) => void;
}

const lookEveryMs = 50;
/** what a command that hasn't begun would not have lived through */
const endsProcesses: ReadonlySet<NodeJS.Signals> = new Set([
  "SIGTERM",
  "SIGKILL",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
]);

export function createSignal(deps: SignalDeps): (request: SignalRequest) => { delivered: boolean } {
  return (request) => {
    const execution = findExecution(deps.ledger, request.processId);
    const name = parseSignal(request.name);
    execution.refresh();
    if (execution.claim === undefined && !endsProcesses.has(name)) return { delivered: false };
    if (execution.claim === undefined && stopUnstarted(execution, name, deps.clock.nowMs()))
      return { delivered: true };
    const delivered = deliver(execution, request.scope, name);
    const graceMs = request.killAfterMs;
    if (delivered && graceMs !== undefined && name !== "SIGKILL") {
      deps.run("kill after a grace", (signal) =>
        killAfter({ deps, execution, scope: request.scope, graceMs, signal }),
      );
    }
    return { delivered };
  };
}

interface KillPlan {
  readonly deps: SignalDeps;
  readonly execution: TrackedExecution;
  readonly scope: SignalScope;
  readonly graceMs: number;
  readonly signal: AbortSignal;
}

async function killAfter({ deps, execution, scope, graceMs, signal }: KillPlan): Promise<void> {
  const untilMs = deps.clock.nowMs() + graceMs;
  while (deps.clock.nowMs() < untilMs && !signal.aborted) {
    if (execution.closed !== undefined && !execution.closed.leftOpen) return;
    await deps.clock.sleep(lookEveryMs, signal);
  }
  // Also when we are told to end: nobody would send it after us.
  deliver(execution, scope, "SIGKILL");
}

function deliver(execution: TrackedExecution, scope: SignalScope, name: NodeJS.Signals): boolean {
  const { started } = execution;
  const { user } = execution.start.launch;
  if (started === undefined || execution.exit !== undefined || !isSameProcess(started)) {
    return signalAll(findMarked(execution.start.executionId, user), name);
  }
  switch (scope) {
    case SignalScope.UNSPECIFIED:
    case SignalScope.LEADER:
      return sendSignal(leaderOf(execution, started.pid), name);
    case SignalScope.GROUP:
      return sendSignal(-started.pgid, name);
    case SignalScope.TREE:
      return signalAll(
        [started.pid, ...findDescendants(started.pid), ...findMarked(execution.start.executionId, user)],
        name,
      );
  }
}

/** In a sandbox the recorded pid is the namespace's first process, which takes no signals; the command is its child. */
function leaderOf(execution: TrackedExecution, pid: number): number {
  return execution.start.launch.sandboxed ? (findDescendants(pid)[0] ?? pid) : pid;
}

function signalAll(pids: readonly number[], name: NodeJS.Signals): boolean {
  return [...new Set(pids)].map((pid) => sendSignal(pid, name)).some(Boolean);
}

function parseSignal(text: string): NodeJS.Signals {
  const name = Object.keys(constants.signals).find(
    (candidate) => candidate === text || candidate === `SIG${text}`,
  );
  if (name === undefined) throw new BoxError("exec/invalid", `${text} is not the name of a signal`);
  return name as NodeJS.Signals;
}
