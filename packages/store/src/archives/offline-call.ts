/**
 * What `sand` asks of the host's program about stores, archives and journals without asking a host, and what it hears:
 * one JSON document on standard input, JSON lines on standard output.
 */
import type { JsonValue } from "@sand/protocol";

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
      readonly turnId: string;
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
      readonly turnId: string;
      /** place of the record in its turn, counted from 1 */
      readonly ordinal: number;
      readonly recordKind: string;
      /** the record's step, where it has one */
      readonly step: number | null;
      readonly difference: Difference;
    };

export interface ArchiveFacts {
  readonly agentId: string;
  readonly name: string;
  readonly entries: number;
  readonly turns: number;
  readonly records: number;
  readonly files: number;
  /** of the content, without names and times of the archive itself */
  readonly sha256: string;
}

export type OfflineCall =
  /** one turn, or all of an agent's; `agent` is an id or a name */
  | {
      readonly kind: "replay";
      readonly root: string;
      readonly turnId: string | null;
      readonly agent: string | null;
    }
  | { readonly kind: "replay-fixture"; readonly file: string }
  | {
      readonly kind: "export-turn";
      readonly root: string;
      readonly turnId: string;
      readonly agent: string | null;
      readonly file: string;
    }
  | { readonly kind: "export-agent"; readonly root: string; readonly agent: string; readonly file: string }
  | {
      readonly kind: "import-agent";
      readonly root: string;
      readonly file: string;
      readonly name: string | null;
    };

export type OfflineReply =
  /** told as they come */
  | { readonly kind: "turn"; readonly agentId: string; readonly replay: TurnReplay }
  | {
      readonly kind: "replayed";
      readonly turns: number;
      readonly diverged: number;
      readonly records: number;
    }
  | {
      readonly kind: "exported-turn";
      readonly agentId: string;
      readonly file: string;
      readonly bytes: number;
    }
  | { readonly kind: "exported"; readonly file: string; readonly bytes: number; readonly facts: ArchiveFacts }
  | { readonly kind: "imported"; readonly agentId: string; readonly facts: ArchiveFacts }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly hint: string | null;
    };
