/** Opens an agent's store the way this host does: what it commits is published, and its projections hear of it. */
import type { AgentStore } from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import type { AgentId, HostEvent } from "@sand/protocol";
import { type AgentWorkerPool, type OpenedHostIndex, openAgentStore, type SeqAllocator } from "@sand/store";
import type { Projections } from "../projections/projections.ts";
import type { RepairDesk } from "../recovery/repair-desk.ts";

export interface StoreParts {
  readonly logger: Logger;
  readonly index: OpenedHostIndex;
  readonly publish: (events: readonly HostEvent[]) => void;
  readonly blobWorkers: AgentWorkerPool;
  readonly projections: Projections;
  readonly repairDesk: RepairDesk;
}

export function openStoreWith({ logger, index, publish, blobWorkers, projections, repairDesk }: StoreParts) {
  return async (agentId: AgentId, folder: string): Promise<AgentStore> => {
    const known = index.agents().find((row) => row.agentId === agentId);
    const store = openAgentStore({
      directory: folder,
      agentId,
      // One that the index knows has a store already; a fresh file would show its conversation as empty.
      create: known === undefined,
      repairs: repairDesk.repairs,
      knownSeq: known?.lastSeq ?? 0,
      onBehind: (lastSeq) => repairDesk.noteBehind(agentId, lastSeq, known?.lastSeq ?? 0),
      seq: index.seq,
      onCommitted(events) {
        // Replay opens only the agents whose row says that they have something, so the row must know first.
        index.noteLastSeq(agentId, events.at(-1)?.seq ?? 0);
        publish(events);
        projections.note(agentId);
      },
      logger,
      blobWorkers,
    });
    goAbove(index.seq, store.read.lastSeq());
    // What the open turn holds is read at once.
    await store.preloadPayloads(0);
    return store;
  };
}

/** An agent that was imported brings its numbers along, and what it commits here must come behind them. */
function goAbove(seq: SeqAllocator, last: number): void {
  if (last <= seq.last()) return;
  seq.ensure(last - seq.last());
  seq.skipTo(last);
}
