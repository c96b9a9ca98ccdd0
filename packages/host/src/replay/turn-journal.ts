/** What a replay of a turn reads. It comes from a store or from a fixture; neither a model nor a box is needed. */
import type { TurnRecord, TurnView } from "@sand/agent-core";
import type { AgentId, JsonValue, TurnId } from "@sand/protocol";

export interface TurnJournal {
  /** the agent that ran the turn: an imported one had another id then */
  readonly agentId: AgentId;
  readonly turnId: TurnId;
  readonly generation: number;
  readonly records: readonly TurnRecord[];
}

export interface JournalSource {
  /** a text of requests, or their tools, by its hash; `undefined` when it isn't kept */
  part(hash: string): JsonValue | undefined;
  /** the settled turns from one generation to before another, oldest first */
  history(from: number, before: number): Iterable<TurnView>;
}

export interface Difference {
  readonly rule:
    | "journal"
    | "delivery"
    | "effect"
    | "request"
    | "answer"
    | "retry"
    | "intent"
    | "result"
    | "settlement";
  readonly what: string;
  readonly recorded: JsonValue;
  readonly replayed: JsonValue;
}

export type TurnReplay =
  | {
      readonly kind: "same";
      readonly turnId: TurnId;
      readonly records: number;
      readonly steps: number;
      /** requests that were built again and had the same hash */
      readonly requests: number;
      /** requests of journals that don't say what they were built from */
      readonly requestsUnchecked: number;
      /** what would come next in a turn that is open */
      readonly next: string | null;
    }
  | {
      readonly kind: "diverged";
      readonly turnId: TurnId;
      /** place of the record in its turn, counted from 1 */
      readonly ordinal: number;
      readonly recordKind: string;
      /** the record's step, where it has one */
      readonly step: number | null;
      readonly difference: Difference;
    };
