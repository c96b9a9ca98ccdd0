/** What the host says of itself: busy or not, and what runs in the background for an agent. */
import type { AgentId, AsyncTask, Clock, StoreRepair } from "@sand/protocol";
import type { BoxKeeper } from "./box/box-port.ts";
import type { HostStatus } from "./gateway/host-ports.ts";
import type { TurnQueue } from "./turns/turn-queue.ts";

export interface HostStatusDeps {
  readonly version: string;
  readonly startedAt: number;
  readonly queue: TurnQueue;
  readonly box: BoxKeeper;
  readonly clock: Clock;
  activeAgentId(): AgentId | null;
  busyHistory(): { readonly lastBusyAtMs: number | null };
  storeRepairs(): readonly StoreRepair[];
  /** a turn of an earlier start may be about to go on */
  mayGoOn(): boolean;
}

export function createHostStatus(deps: HostStatusDeps): HostStatus {
  /** Background commands of the agent, as the daemon knows them now; none while there is no daemon. */
  async function asyncTasks(id: AgentId): Promise<readonly AsyncTask[]> {
    const found = deps.box.peek();
    if (found === null) return [];
    const executions = await found.list();
    return executions
      .filter((one) => one.lineage.agentId === id && one.background && one.status.state === "running")
      .map((one) => ({
        kind: "shell",
        id: one.executionId,
        label: one.executionId,
        status: "running",
        startedAtMs: one.acceptedAtMs,
      }));
  }

  return {
    version: deps.version,
    startedAt: deps.startedAt,
    activeAgentId: deps.activeAgentId,
    storeRepairs: deps.storeRepairs,
    isBusy: () => deps.queue.runningCount() > 0 || deps.mayGoOn(),
    busyOnlyAwaitingApproval: () => false,
    lastBusyAtMs: () =>
      deps.queue.runningCount() > 0 ? deps.clock.nowMs() : deps.busyHistory().lastBusyAtMs,
    runningTurns: () => deps.queue.runningCount(),
    asyncTasks,
    // Task children come later; a host without them has none to name.
    subagents: async () => [],
  };
}
