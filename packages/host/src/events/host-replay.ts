/**
 * Reads committed events of the whole host back from the stores: the index's own events, and those of each agent that
 * committed anything after the cursor. Agents that didn't are not opened.
 */
import type { AgentStore, HostIndex } from "@sand/agent-core";
import type { AgentId, CommittedEvent } from "@sand/protocol";
import type { ReplaySource } from "./replay-source.ts";

export interface HostReplayDeps {
  readonly index: HostIndex;
  openStore(agentId: AgentId): Promise<AgentStore>;
}

export function createHostReplay({ index, openStore }: HostReplayDeps): ReplaySource {
  return {
    async eventsSince(since, limit) {
      if (since < index.resumeFloor()) return undefined;
      const parts: (readonly CommittedEvent[])[] = [];
      const ofHost = index.hostEventsSince(since, limit);
      if (ofHost === undefined) return undefined;
      parts.push(ofHost);
      for (const row of index.agents()) {
        if (row.lastSeq <= since) continue;
        const ofAgent = (await openStore(row.agentId)).eventsSince(since, limit);
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
