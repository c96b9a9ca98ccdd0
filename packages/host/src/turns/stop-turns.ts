/**
 * Ends everything that runs for an agent that is being deleted: its turn, then its background commands. Bounded: an
 * agent whose turn doesn't end in time is deleted all the same, and the fence keeps that run from writing.
 */
import { systemClock } from "@sand/node-kit";
import { type AgentId, BoxError, type Clock } from "@sand/protocol";
import type { OpenAgents } from "../agents/open-agents.ts";
import type { BoxPort } from "../box/box-port.ts";
import { recordInTurn } from "./record-in-turn.ts";
import type { TurnQueue } from "./turn-queue.ts";

/** how long a deletion waits for the agent's turn, in `ms` */
const stopMaxMs = 20_000;
/** between TERM and KILL of a background command, in `ms` */
const killAfterMs = 2_000;

export interface StopTurnsDeps {
  readonly open: OpenAgents;
  readonly queue: TurnQueue;
  readonly clock: Clock;
  box(): BoxPort | null;
}

export function createStopTurns(deps: StopTurnsDeps): (agentId: AgentId) => Promise<void> {
  return async function stopTurns(agentId) {
    try {
      await interruptTurn(deps, agentId);
    } catch (error) {
      // A damaged store keeps no turn that could go on, and must not keep its agent from being deleted.
      if (!(error instanceof BoxError && error.code === "store/damaged")) throw error;
    }
    const waited = new AbortController();
    await Promise.race([deps.queue.whenIdle(agentId), systemClock.sleep(stopMaxMs, waited.signal)]);
    waited.abort();
    await stopBackground(deps.box(), agentId);
  };
}

async function interruptTurn(deps: StopTurnsDeps, agentId: AgentId): Promise<void> {
  const handle = await deps.open.open(agentId);
  handle.isRetired = true;
  await handle.commit((tx) => {
    const running = tx.openTurn();
    if (running === undefined) return;
    const fence = { turnId: running.turnId, generation: running.generation };
    recordInTurn(tx, fence, { kind: "interruptRequested", by: "delete", atMs: deps.clock.nowMs() });
  });
  handle.onInterrupt?.();
}

async function stopBackground(box: BoxPort | null, agentId: AgentId): Promise<void> {
  if (box === null) return;
  const executions = await box.list().catch(() => []);
  const running = executions.filter(
    (one) => one.lineage.agentId === agentId && one.status.state === "running",
  );
  await Promise.allSettled(
    running.map((one) => box.signal(one.executionId, { name: "SIGTERM", scope: "group", killAfterMs })),
  );
}
