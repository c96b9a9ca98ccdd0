/**
 * The port of one agent's durable state. The adapter is `@sand/store`.
 *
 * All changes go through `transact`. Transactions that are asked for in the same tick are committed together with one
 * fsync (group commit), each in its own savepoint: one that throws rolls back alone. The promise resolves only after
 * the commit is durable and its events have been handed to the event hub, in commit order over all agents.
 */
import type {
  AgentId,
  ClientNonce,
  CommittedEvent,
  EntryId,
  JsonObject,
  JsonValue,
  PromptId,
  TranscriptEntry,
  TurnId,
} from "@sand/protocol";
import type { Provenance, TurnOutcome, TurnRecord, TurnRecordKind } from "./turn-records.ts";

/** how a prompt meets a running turn */
export type WhenBusy = "steer" | "queue" | "interrupt";

/** one row of the nonce ledger: an accepted prompt, kept as long as the transcript */
export interface PromptRow {
  readonly promptId: PromptId;
  readonly nonce: ClientNonce;
  /** SHA-256 of the canonical payload, hex */
  readonly digest: string;
  readonly entryId: EntryId;
  readonly text: string;
  readonly whenBusy: WhenBusy;
  readonly provenance: Provenance;
  readonly acceptedAtMs: number;
  /** the one turn that the prompt was delivered in; `null` while it waits */
  readonly turnId: TurnId | null;
}

export type TurnState = "open" | "settled";

export interface TurnRow {
  readonly turnId: TurnId;
  /** rises with each turn of the agent; a write under an older one is refused (INV-3) */
  readonly generation: number;
  readonly state: TurnState;
  readonly outcome: TurnOutcome | null;
  readonly startedAtMs: number;
  readonly settledAtMs: number | null;
}

/** names the claim under which a turn is written; checked in the transaction */
export interface TurnFence {
  readonly turnId: TurnId;
  readonly generation: number;
}

export interface StoredEntry {
  readonly seq: number;
  readonly entry: TranscriptEntry;
}

/** entries oldest first; `more` tells whether older ones exist */
export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  readonly more: boolean;
}

export interface PageBounds {
  readonly limit: number;
  readonly beforeSeq?: number;
}

/** Reads see the transaction's own writes when called on an `AgentTx`. All are indexed; none grows with history. */
export interface AgentReads {
  getValue(key: string): JsonValue | undefined;
  findEntry(id: EntryId): StoredEntry | undefined;
  /** the newest `limit` entries with `seq < beforeSeq` */
  entriesBefore(page: PageBounds): EntryPage;
  /** the same of the main window: without tool calls and branches */
  windowBefore(page: PageBounds): EntryPage;
  /**
   * The newest `limit` entries of a span, both ends included, that come before the entry at `beforeSeq`. The order is
   * that of time, and of `seq` where the time is the same, so a clock that was set back loses no entry.
   */
  entriesInSpan(page: PageBounds & { readonly sinceMs?: number; readonly untilMs?: number }): EntryPage;
  /** the newest `limit` entries that reply to `rootId`, oldest first */
  repliesTo(rootId: EntryId, limit: number): readonly StoredEntry[];
  countReplies(rootId: EntryId): number;
  findPrompt(nonce: ClientNonce): PromptRow | undefined;
  /** accepted and not yet delivered, in order of acceptance */
  pendingPrompts(): readonly PromptRow[];
  openTurn(): TurnRow | undefined;
  /** the newest settled turns before `beforeGeneration`, newest first */
  settledTurns(page: { readonly limit: number; readonly beforeGeneration?: number }): readonly TurnRow[];
  records(turnId: TurnId): readonly TurnRecord[];
  /** the turn's records of one kind, in order */
  recordsOfKind<Kind extends TurnRecordKind>(
    turnId: TurnId,
    kind: Kind,
  ): readonly Extract<TurnRecord, { readonly kind: Kind }>[];
  /** the highest `seq` committed by this agent, 0 for none */
  lastSeq(): number;
}

export interface AgentTx extends AgentReads {
  setValue(key: string, value: JsonValue): void;
  /** appends with a fresh `seq` and emits `appended` on channel `transcript` */
  appendEntry(entry: TranscriptEntry): number;
  /** replaces the entry's JSON in place (its paging position stays) and emits `updated` under a fresh `seq` */
  updateEntry(entry: TranscriptEntry): void;
  /** fails with an invariant when the nonce exists */
  insertPrompt(row: PromptRow): void;
  /** compare-and-set: only an undelivered prompt can be delivered */
  deliverPrompt(promptId: PromptId, turnId: TurnId): void;
  /** fails when another turn is open, or the generation isn't above all earlier ones */
  insertTurn(row: TurnRow): void;
  /** `BoxError turn/superseded` when the fence isn't the open turn's */
  appendRecord(fence: TurnFence, record: TurnRecord): void;
  settleTurn(fence: TurnFence, outcome: TurnOutcome, atMs: number): void;
  /** emits an event of another channel under a fresh `seq` */
  emit(channel: string, payload: JsonObject): void;
}

export interface Committed<T> {
  readonly value: T;
  readonly events: readonly CommittedEvent[];
}

export interface AgentStore extends AsyncDisposable {
  readonly agentId: AgentId;
  readonly read: AgentReads;
  /**
   * `change` is synchronous and may throw to roll back; its error reaches the caller unchanged. One that writes large
   * payloads is rolled back and runs again when they are stored, so it must not count on running once.
   */
  transact<T>(change: (tx: AgentTx) => T): Promise<Committed<T>>;
  /** committed events of this agent with `seq > since`, oldest first, or `undefined` when some were trimmed */
  eventsSince(since: number, limit: number): readonly CommittedEvent[] | undefined;
  /**
   * Brings the large payloads of waiting prompts, of the open turn and of the newest `settledTurns` others into memory,
   * while the event loop goes on. Reads that follow soon find them there; any other read of one waits for the disk.
   * Doesn't fail: what can't be read is told by the read that needs it.
   */
  preloadPayloads(settledTurns: number): Promise<void>;
  /**
   * Makes the root of all payloads anew and removes what nothing names. Happens by itself too. `root` names the blob
   * from which every payload can be reached, `null` where there is none.
   */
  settlePayloads(): Promise<{ readonly root: string | null; readonly removed: number }>;
  /** false after a failed commit, until the file was reopened and checked */
  readonly healthy: boolean;
  close(): Promise<void>;
}

/** one agent's row in the host's index; a cache of its store, rebuilt when lost */
export interface IndexedAgent {
  readonly agentId: AgentId;
  readonly summary: JsonObject;
  readonly lastSeq: number;
  /** a hint: true may be wrong (harmless), false never is */
  readonly hasOpenTurn: boolean;
}

/** The host's index (`<data root>/host.db`): rebuildable, but for the block of reserved `seq`. */
export interface HostIndex extends AsyncDisposable {
  agents(): readonly IndexedAgent[];
  putAgent(row: IndexedAgent): void;
  removeAgent(agentId: AgentId): void;
  /** shows the agent as having an open turn, at once; to be called before the agent's commit */
  markOpenTurn(agentId: AgentId): void;
  /**
   * Which agent a nonce was sent to, seen at once; to be called before the agent's commit. It is written later and may
   * be lost with the process: a start learns it from the agent's store. A false positive is harmless, and the newest
   * claim counts. `host/overloaded` when the index can't be written for long.
   */
  claimNonce(nonce: ClientNonce, agentId: AgentId): void;
  findNonce(nonce: ClientNonce): AgentId | undefined;
  /** durable ledger of `createAgent` */
  findCreation(nonce: ClientNonce): { readonly agentId: AgentId; readonly digest: string } | undefined;
  recordCreation(nonce: ClientNonce, agentId: AgentId, digest: string): Promise<void>;
  /** commits an event that belongs to no agent's store (roster changes) and publishes it */
  commitHostEvent(channel: string, payload: JsonObject): Promise<CommittedEvent>;
  hostEventsSince(since: number, limit: number): readonly CommittedEvent[] | undefined;
  /** no cursor below this can be resumed (the index was rebuilt, or older events were trimmed) */
  resumeFloor(): number;
  /** the highest `seq` given out */
  lastSeq(): number;
  close(): Promise<void>;
}
