/**
 * Reads committed events of the whole host back from the stores: the index's own events, and those of each agent that
 * committed anything after the cursor. Agents that didn't are not opened.
 */
import type { AgentStore, HostIndex } from "@sand/agent-core";
import { type AgentId, BoxError, type CommittedEvent } from "@sand/protocol";
import type { ReplaySource } from "./replay-source.ts";

export interface HostReplayDeps {
  readonly index: Pick<HostIndex, "resumeFloor" | "agents" | "hostEventsSince">;
  openStore(agentId: AgentId): Promise<Pick<AgentStore, "eventsSince">>;
}

export function createHostReplay({ index, openStore }: HostReplayDeps): ReplaySource {
  /** An agent that was deleted has nothing to replay. One whose store can't be read leaves a gap, which is said. */
  async function eventsOf(
    agentId: AgentId,
    since: number,
    limit: number,
  ): Promise<readonly CommittedEvent[] | undefined> {
    try {
      return (await openStore(agentId)).eventsSince(since, limit);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      return error.code === "gateway/agent-not-found" ? [] : undefined;
    }
  }

  return {
    async eventsSince(since, limit) {
      if (since < index.resumeFloor()) return undefined;
      const parts: (readonly CommittedEvent[])[] = [];
      const ofHost = index.hostEventsSince(since, limit);
      if (ofHost === undefined) return undefined;
      parts.push(ofHost);
      for (const row of index.agents()) {
        if (row.lastSeq <= since) continue;
        const ofAgent = await eventsOf(row.agentId, since, limit);
        if (ofAgent === undefined) return undefined;
        parts.push(ofAgent);
      }
      return parts
        .flat()
        .sort((a, b) => a.seq - b.seq)
        .slice(0, limit);
    },
  };
}
