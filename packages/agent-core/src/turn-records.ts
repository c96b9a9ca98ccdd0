/**
 * The journal of a turn: what was intended and what came of it, in the order in which it was committed.
 *
 * Rule (INV-1, record before effect): an effect is performed only when its intent is committed, and its result is
 * committed under the id that the intent allocated. Everything about a turn is derived from these records alone.
 * A record is one JSON object in `turn_records.body`; `kind` is the discriminator and never changes its meaning.
 */
import type {
  CallId,
  ClientNonce,
  EntryId,
  ErrorCode,
  ExecutionId,
  JsonObject,
  PromptId,
  RequestId,
  TurnId,
} from "@sand/protocol";

/** who stands behind a prompt; carried on every entry and record that follows from it */
export interface Provenance {
  readonly origin: "user" | "agent" | "automation" | "task";
  readonly trust: "trusted" | "untrusted";
  /** the chain of turns or calls that led here, outermost first */
  readonly lineage: readonly string[];
}

/** how often a tool's effect may be performed when the first attempt's outcome isn't known */
export type ReplayPolicy =
  /** reading only: may run again */
  | "safe"
  /** the executor knows the execution id, so asking again is the same execution */
  | "keyed"
  /** never twice: an unknown outcome is said so */
  | "never";

export interface ToolCallRecord {
  /** ours: derived from agent, turn, step and index */
  readonly callId: CallId;
  /** the provider's own id, kept as received (or minted once and stored when it sent none or a duplicate) */
  readonly providerCallId: string;
  readonly entryId: EntryId;
  readonly name: string;
  /** the arguments exactly as received; parsed strictly when the call runs, never repaired */
  readonly argsText: string;
}

/** raw usage as the provider reported it; money is computed when it is read */
export interface UsageRecord {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
}

/** how a model step ended; `length` with calls never runs them */
export type StepFinish = "stop" | "tool-calls" | "length" | "content-filter" | "other";

/** what a tool call came to; exactly one for each call */
export type ToolOutcome =
  | "ok"
  /** the tool ran and reports a failure, or its arguments were refused */
  | "error"
  /** cancelled by the user or a superseding prompt; output so far is kept */
  | "interrupted"
  /** denied by review */
  | "denied"
  /** no record exists and the process is gone: it may or may not have happened */
  | "unknown";

export interface ToolResultRecord {
  readonly callId: CallId;
  readonly outcome: ToolOutcome;
  /** the text that the model reads, already capped */
  readonly text: string;
  /** a handle under which more of the output can be read, when it was cut */
  readonly outputHandle: string | null;
  readonly details: JsonObject;
}

export type TurnOutcome = "success" | "awaiting-user" | "aborted" | "quiesced" | "error";

export interface PromptText {
  readonly promptId: PromptId;
  readonly entryId: EntryId;
  readonly nonce: ClientNonce;
  readonly text: string;
  readonly provenance: Provenance;
}

/**
 * What a request was built from besides the records of its turn, so that it can be built again. The texts are kept once
 * for each agent, under their SHA-256 in hex.
 */
export interface RequestBasis {
  readonly system: string;
  readonly tools: string;
  /** the oldest earlier turn that it holds; `null` when it holds none */
  readonly fromGeneration: number | null;
  readonly messages: number;
}

export type TurnRecord =
  | {
      readonly kind: "turnStarted";
      readonly turnId: TurnId;
      readonly generation: number;
      readonly atMs: number;
      readonly provenance: Provenance;
    }
  /** a prompt joined this turn: at its start, or at a step boundary */
  | {
      readonly kind: "promptDelivered";
      readonly prompt: PromptText;
      readonly beforeStep: number;
      readonly atMs: number;
    }
  /**
   * A host took the open turn up again; counted, so that a crash loop ends. `marker` names the upgrade that had stopped
   * the turn at a boundary: its resume marker is used up with this record, and such a resume isn't counted.
   */
  | {
      readonly kind: "turnResumed";
      readonly bootId: string;
      readonly marker?: string;
      readonly atMs: number;
    }
  | { readonly kind: "boxReady"; readonly atMs: number }
  | { readonly kind: "boxAbsent"; readonly code: ErrorCode; readonly reason: string; readonly atMs: number }
  /** intent of a model call */
  | {
      readonly kind: "stepPrepared";
      readonly step: number;
      readonly attempt: number;
      readonly requestId: RequestId;
      readonly requestHash: string;
      /** absent in journals of earlier versions */
      readonly basis?: RequestBasis;
      readonly atMs: number;
    }
  | {
      readonly kind: "stepFailed";
      readonly step: number;
      readonly attempt: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryAtMs: number | null;
      readonly atMs: number;
    }
  /** the model's answer with its finish; only this may start tools */
  | {
      readonly kind: "stepCompleted";
      readonly step: number;
      readonly attempt: number;
      readonly finish: StepFinish;
      readonly text: string;
      /** the entry of the text, when this step ends the turn with one */
      readonly answerEntryId: EntryId | null;
      readonly calls: readonly ToolCallRecord[];
      readonly usage: UsageRecord;
      readonly provider: string;
      readonly model: string;
      /** provider parts as received (reasoning with its metadata among them), for replay */
      readonly rawParts: readonly JsonObject[];
      /** from the first to the last piece of reasoning as it came, in `ms`; absent when none came */
      readonly reasoningMs?: number;
      readonly atMs: number;
    }
  | {
      readonly kind: "callReviewed";
      readonly callId: CallId;
      readonly verdict: "allow" | "deny";
      readonly rule: string;
      readonly atMs: number;
    }
  /** intent of a tool's effect */
  | {
      readonly kind: "toolIntended";
      readonly callId: CallId;
      readonly executionId: ExecutionId;
      readonly replay: ReplayPolicy;
      readonly atMs: number;
    }
  | { readonly kind: "toolSettled"; readonly result: ToolResultRecord; readonly atMs: number }
  /** somebody wants this turn to end; it ends at once, with what it has */
  | { readonly kind: "interruptRequested"; readonly by: "user" | "prompt" | "delete"; readonly atMs: number }
  | {
      readonly kind: "turnSettled";
      readonly outcome: TurnOutcome;
      readonly code: ErrorCode | null;
      readonly reason: string | null;
      readonly atMs: number;
    };

export type TurnRecordKind = TurnRecord["kind"];
