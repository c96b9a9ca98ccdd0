/** Journals out of an agent's store. A turn that an agent ran before it was imported names the agent that it was then. */
import type { TurnRow } from "@sand/agent-core";
import { type AgentId, brandId, type TurnId } from "@sand/protocol";
import type { AgentReading } from "@sand/store/archives";
import { requestPartKey } from "../turns/request-basis.ts";
import type { JournalSource, TurnJournal } from "./turn-journal.ts";

export interface JournalReader extends JournalSource {
  /** `undefined` when the agent has no such turn */
  find(turnId: TurnId): TurnJournal | undefined;
  all(): Iterable<TurnJournal>;
}

export function createJournalReader(agentId: AgentId, reading: AgentReading): JournalReader {
  const { read } = reading;
  const earlier = reading.ranBy();

  function journalOf({ turnId, generation }: TurnRow): TurnJournal {
    const ranBy = earlier.find(({ throughGeneration }) => generation <= throughGeneration)?.agentId;
    return { agentId: brandId<AgentId>(ranBy ?? agentId), turnId, generation, records: read.records(turnId) };
  }

  return {
    find(turnId) {
      for (const row of reading.turns(0)) if (row.turnId === turnId) return journalOf(row);
      return undefined;
    },
    *all() {
      for (const row of reading.turns(0)) yield journalOf(row);
    },
    part: (hash) => read.getValue(requestPartKey(hash)),
    *history(from, before) {
      if (from >= before) return;
      for (const { turnId, generation, state } of reading.turns(from)) {
        if (generation >= before || state !== "settled") return;
        yield { generation, records: read.records(turnId) };
      }
    },
  };
}
