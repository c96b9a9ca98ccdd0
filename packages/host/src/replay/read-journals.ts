/** Journals out of an agent's store. A turn that an agent ran before it was imported names the agent that it was then. */
import { reduceTurnRecords, type TurnRow } from "@sand/agent-core";
import { type AgentId, BoxError, brandId, type TurnId } from "@sand/protocol";
import type { AgentReading } from "@sand/store/archives";
import { requestPartKey } from "../turns/request-basis.ts";
import type { JournalSource, TurnJournal } from "./turn-journal.ts";

export interface JournalReader extends JournalSource {
  /** `undefined` when the agent has no such turn */
  find(turnId: TurnId): TurnJournal | undefined;
  all(): Iterable<TurnJournal>;
}

/** the value that says which agent ran which turns before an import, oldest first */
export const importedKey = "importedFrom";

export function createJournalReader(agentId: AgentId, reading: AgentReading): JournalReader {
  const { read } = reading;
  const earlier = readEarlier(read.getValue(importedKey));

  function journalOf({ turnId, generation }: TurnRow): TurnJournal {
    const ranBy =
      earlier.find(({ throughGeneration }) => generation <= throughGeneration)?.agentId ?? agentId;
    return { agentId: ranBy, turnId, generation, records: read.records(turnId) };
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
        const view = reduceTurnRecords(read.records(turnId));
        if (view !== undefined) yield view;
      }
    },
  };
}

export interface EarlierAgent {
  readonly agentId: AgentId;
  readonly throughGeneration: number;
}

export function readEarlier(value: unknown): readonly EarlierAgent[] {
  if (value === undefined) return [];
  const found: readonly unknown[] = Array.isArray(value) ? value : [];
  return found.map((one) => {
    const fields: Readonly<Record<string, unknown>> =
      typeof one === "object" && one !== null ? { ...one } : {};
    const { agentId, throughGeneration } = fields;
    if (typeof agentId === "string" && typeof throughGeneration === "number")
      return { agentId: brandId<AgentId>(agentId), throughGeneration };
    throw new BoxError("store/damaged", "what the store says of its import can't be read");
  });
}
