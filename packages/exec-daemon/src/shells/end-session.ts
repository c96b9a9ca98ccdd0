/**
 * End: whatever was started in a session and isn't detached is gone when it answers, also what a command has left
 * behind in the background. That is found by descent, by the command's control group where there is one, and by the
 * session's marker in the environment; in a sandbox it goes with its namespace.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isSameProcess } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import { killCgroup } from "../keeper/cgroup-place.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { stopUnstarted } from "../ledger/stop-unstarted.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { findDescendants, findWithVariable, sendSignal } from "../processes/process-tree.ts";
import { sessionMarkerName } from "./server-names.ts";
import { parseShellLabel } from "./shell-label.ts";
import { shellLimits } from "./shell-limits.ts";

export interface EndDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly user: CommandUser | undefined;
}

export interface EndedSession {
  readonly endedProcessIds: readonly string[];
  readonly detachedProcessIds: readonly string[];
}

export async function endProcesses(deps: EndDeps, sessionId: string): Promise<EndedSession> {
  const all = deps.ledger
    .list()
    .filter(({ start }) => parseShellLabel(start.labels)?.sessionId === sessionId);
  const isDetached = ({ start }: TrackedExecution): boolean => parseShellLabel(start.labels)?.detach === true;
  const ours = all.filter((execution) => !isDetached(execution));
  for (const execution of all) execution.refresh();
  for (const execution of ours) {
    if (execution.claim === undefined) stopUnstarted(execution, "SIGTERM", deps.clock.nowMs());
  }
  const alive = ours.filter((execution) => pidsOf(execution).length > 0);
  const find = (): readonly number[] => [
    ...new Set([...ours.flatMap(pidsOf), ...findWithVariable(sessionMarkerName, sessionId, deps.user)]),
  ];
  await endAll(deps.clock, find, () => ours.forEach(killGroup));
  return {
    endedProcessIds: alive.map(({ start }) => start.executionId),
    detachedProcessIds: all
      .filter((execution) => isDetached(execution) && pidsOf(execution).length > 0)
      .map(({ start }) => start.executionId),
  };
}

async function endAll(clock: Clock, find: () => readonly number[], kill: () => void): Promise<void> {
  const found = find();
  for (const pid of found) sendSignal(pid, "SIGTERM");
  // One that is stopped takes no signal but this and KILL.
  for (const pid of found) sendSignal(pid, "SIGCONT");
  if (await untilNone(clock, find, shellLimits.endGraceMs)) return;
  kill();
  for (const pid of find()) sendSignal(pid, "SIGKILL");
  await untilNone(clock, () => find().filter((pid) => sendSignal(pid, "SIGKILL")), shellLimits.endMaxMs);
}

async function untilNone(clock: Clock, find: () => readonly number[], maxMs: number): Promise<boolean> {
  const endMs = clock.nowMs() + maxMs;
  for (;;) {
    if (find().length === 0) return true;
    if (clock.nowMs() >= endMs) return false;
    await clock.sleep(shellLimits.endLookEveryMs);
  }
}

function pidsOf({ claim, started, exit }: TrackedExecution): readonly number[] {
  const grouped = claim?.cgroup === undefined ? [] : readPids(join(claim.cgroup, "cgroup.procs"));
  const isThere = started !== undefined && exit === undefined && isSameProcess(started);
  return isThere ? [started.pid, ...findDescendants(started.pid), ...grouped] : grouped;
}

function killGroup({ claim }: TrackedExecution): void {
  if (claim?.cgroup !== undefined) killCgroup(claim.cgroup);
}

function readPids(path: string): readonly number[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    // The group is gone, and with it all that was in it.
    return [];
  }
}
