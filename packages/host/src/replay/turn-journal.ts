/** What a replay of a turn reads. It comes from a store or from a fixture; neither a model nor a box is needed. */
import type { TurnRecord } from "@sand/agent-core";
import type { AgentId, JsonValue, TurnId } from "@sand/protocol";

export interface TurnJournal {
  /** the agent that ran the turn: an imported one had another id then */
  readonly agentId: AgentId;
  readonly turnId: TurnId;
  readonly generation: number;
  readonly records: readonly TurnRecord[];
}

export interface EarlierTurn {
  readonly generation: number;
  readonly records: readonly TurnRecord[];
}

export interface JournalSource {
  /** a text of requests, or their tools, by its hash; `undefined` when it isn't kept */
  part(hash: string): JsonValue | undefined;
  /** the settled turns from one generation to before another, oldest first */
  history(from: number, before: number): Iterable<EarlierTurn>;
}
