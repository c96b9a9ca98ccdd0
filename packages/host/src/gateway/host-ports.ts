/**
 * What the gateway's commands need from the rest of the host. `start-host.ts` passes the adapters; the gateway knows
 * no store and no turn.
 *
 * Methods throw `BoxError` for operating errors. An id that no agent has is `gateway/agent-not-found` wherever it
 * isn't said otherwise.
 */
import type { AgentReads, WhenBusy } from "@sand/agent-core";
import type {
  AcceptanceRecord,
  AgentId,
  AgentSummary,
  AsyncTask,
  ClientNonce,
  CommandResponse,
  HostSettings,
  HostSettingsPatch,
  JsonValue,
  MediaHit,
  ProfileChange,
  PromptAcceptanceStatus,
  SearchHit,
  SearchStatus,
  StoreRepair,
  Subagent,
  TurnId,
} from "@sand/protocol";

export interface CreateAgentInput {
  readonly profile: ProfileChange;
  readonly origin: "user" | "dev";
  readonly purpose?: string;
  readonly clientNonce?: ClientNonce;
  /** SHA-256 of the canonical request, hex: the same nonce with another digest is a conflict */
  readonly digest: string;
}

export type CreateAgentOutcome =
  | { readonly kind: "created"; readonly agent: AgentSummary }
  /** the nonce made this agent before, from the same payload */
  | { readonly kind: "existing"; readonly agent: AgentSummary }
  | { readonly kind: "conflict" };

export interface AgentDirectory {
  list(): readonly AgentSummary[];
  count(): number;
  /** `BoxError gateway/agent-limit` when the host is full */
  create(input: CreateAgentInput): Promise<CreateAgentOutcome>;
  /** fields that are absent stay as they are; `null` when no such agent exists */
  update(id: AgentId, profile: ProfileChange): Promise<AgentSummary | null>;
  /** unknown ids are passed over, so that a repeated delete succeeds */
  remove(ids: readonly AgentId[]): Promise<void>;
  /** opens the agent's store when needed */
  reads(id: AgentId): Promise<AgentReads>;
  activeAgentId(): AgentId | null;
  activate(id: AgentId): Promise<void>;
  summary(id: AgentId): AgentSummary;
}

/** fields that are absent stay as they are */
export interface AgentSettingsChange {
  readonly notificationsEnabled?: boolean;
  readonly notifyOnAgentUpdates?: boolean;
  readonly hiddenFromSidebar?: boolean;
}

/** What a user sets on an agent's row. Each change is durable and its roster row published before it resolves. */
export interface AgentSwitches {
  /** `atMs`: when the user looked; now when `null` */
  setUnread(id: AgentId, change: { readonly isUnread: boolean; readonly atMs: number | null }): Promise<void>;
  changeSettings(id: AgentId, change: AgentSettingsChange): Promise<void>;
}

export interface HostSettingsDesk {
  read(): HostSettings;
  /** durable and published before it resolves; `gateway/body-too-large` when the settings as a whole get too large */
  change(patch: HostSettingsPatch): Promise<HostSettings>;
}

export interface PromptInput {
  readonly nonce: ClientNonce;
  /** as sent; absent means the agent that the nonce is known to belong to, else the active one */
  readonly agentId?: AgentId;
  readonly text: string;
  readonly replyToId?: string;
  readonly richText?: JsonValue;
  readonly whenBusy: WhenBusy;
  /** the payload's digest (contract, rule 10) for the agent that the prompt resolved to: SHA-256, hex */
  digestFor(agentId: AgentId): string;
}

export type PromptOutcome =
  /** also when the same prompt was accepted before */
  { readonly kind: "accepted"; readonly record: AcceptanceRecord } | { readonly kind: "conflict" };

export interface PromptDesk {
  /**
   * Resolves only when the acceptance is durable. The nonce is looked up before the active agent. Without an agent
   * to resolve to: `BoxError gateway/bad-request`.
   */
  accept(input: PromptInput): Promise<PromptOutcome>;
  status(query: {
    readonly clientNonce: ClientNonce;
    readonly agentId?: AgentId;
  }): Promise<PromptAcceptanceStatus>;
  interrupt(id: AgentId): Promise<{ readonly hadActiveRun: boolean }>;
}

/** Snapshots of the host's state somewhere else. Methods that work on the store throw `box-store/…`. */
export interface BoxStoreDesk {
  status(): CommandResponse<"getBoxStoreStatus">;
  snapshot(): Promise<CommandResponse<"snapshotBoxStoreNow">>;
  /** takes everything out of the store */
  clear(): Promise<CommandResponse<"clearBoxStoreNow">>;
}

/** Search over all agents. What it knows is a projection, which may be behind for a moment. */
export interface SearchDesk {
  /** the newest hits first; `store/unavailable` while there is no index */
  searchMessages(query: string, limit: number): Promise<readonly SearchHit[]>;
  searchMedia(query: string, limit: number): Promise<readonly MediaHit[]>;
  /** makes the index anew in the background */
  rebuild(): void;
  status(): SearchStatus;
}

export interface UpgradeAnswer {
  /** turns are still on their way to a boundary */
  readonly quiescing: boolean;
  /** loops that are under way now */
  readonly runningTurns: number;
  readonly phase: "open" | "quiescing" | "prepared" | "closing";
  /** the turns that the upgrade interrupts; each has a marker, by which the replacement goes on */
  readonly turns: readonly { readonly agentId: AgentId; readonly turnId: TurnId }[];
  /** when this host goes on by itself, unless it is replaced or asked again */
  readonly resumesAtMs: number | null;
}

export interface UpgradeDesk {
  /** Begins an upgrade, or says how far it has come and renews its time. When nothing runs it is prepared on return. */
  prepare(): Promise<UpgradeAnswer>;
}

export interface HostStatus {
  readonly version: string;
  /** wall clock of the host's start, in `ms`; the same number stands in the discovery file */
  readonly startedAt: number;
  activeAgentId(): AgentId | null;
  isBusy(): boolean;
  /** what became of damaged stores, newest last */
  storeRepairs(): readonly StoreRepair[];
  busyOnlyAwaitingApproval(): boolean;
  lastBusyAtMs(): number | null;
  runningTurns(): number;
  asyncTasks(id: AgentId): Promise<readonly AsyncTask[]>;
  subagents(id: AgentId): Promise<readonly Subagent[]>;
}
