/** Leaves a marker at each turn that an upgrade interrupts, and empties the logs of the agents' stores. */
import { join } from "node:path";
import type { Logger } from "@sand/node-kit";
import { type AgentId, BoxError, type TurnId } from "@sand/protocol";
import { checkpointDatabase, storeFileName } from "@sand/store";
import type { AgentHandle } from "../agents/agent-handle.ts";
import type { OpenAgents } from "../agents/open-agents.ts";
import { leaveMarker } from "./resume-marker.ts";

export interface MarkDeps {
  readonly open: Pick<OpenAgents, "peek">;
  readonly logger: Logger;
}

export interface InterruptedTurn {
  readonly agentId: AgentId;
  readonly turnId: TurnId;
}

/** The turns that are interrupted. One that can't be marked is told and resumes as it would after a crash. */
export async function markTurns(
  { open, logger }: MarkDeps,
  agents: Iterable<AgentId>,
  upgradeId: string,
): Promise<readonly InterruptedTurn[]> {
  const handles = [...agents].flatMap((agentId) => open.peek(agentId) ?? []);
  const marked = await Promise.all(
    handles.map(async (handle) => {
      try {
        return await markTurn(handle, upgradeId);
      } catch (error) {
        if (!(error instanceof BoxError)) throw error;
        logger.error({ event: "upgrade.unmarked", agentId: handle.agentId, err: error }, error.message);
        return [];
      }
    }),
  );
  return marked.flat();
}

async function markTurn(handle: AgentHandle, upgradeId: string): Promise<readonly InterruptedTurn[]> {
  if (handle.turn() === null) return [];
  return await handle.commit((tx) => {
    const turn = tx.openTurn();
    if (turn === undefined) return [];
    leaveMarker(tx, turn, upgradeId);
    return [{ agentId: handle.agentId, turnId: turn.turnId }];
  });
}

/** Best effort: what stays in a log is read from there by the next host. */
export function checkpointStores({ open, logger }: MarkDeps, agents: Iterable<AgentId>): void {
  for (const agentId of agents) {
    const handle = open.peek(agentId);
    if (handle === undefined) continue;
    try {
      checkpointDatabase(join(handle.folder, storeFileName));
    } catch (error) {
      logger.warn({ event: "upgrade.checkpoint", agentId, err: error }, "a store's log could not be emptied");
    }
  }
}
