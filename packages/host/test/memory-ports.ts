/** The gateway's ports in memory, for tests of the gateway alone. They keep the promises of `host-ports.ts` and no more. */
import type { AgentReads } from "@sand/agent-core";
import { randomIds } from "@sand/node-kit";
import {
  type AcceptanceRecord,
  type AgentId,
  type AgentSummary,
  BoxError,
  brandId,
  type EntryId,
  type TranscriptEntry,
} from "@sand/protocol";
import type { AgentDirectory, CreateAgentInput, HostStatus, PromptDesk } from "../src/gateway/host-ports.ts";

export const startedAt = 1_700_000_000_000;

export function summaryOf(id: string, input?: CreateAgentInput): AgentSummary {
  return {
    id: brandId<AgentId>(id),
    name: input?.profile.name ?? id,
    description: input?.profile.description ?? "",
    title: input?.profile.title ?? "",
    avatarShape: null,
    avatarColor: null,
    path: "",
    avatarDataUrl: "data:image/png;base64,AAAA",
    avatarVersion: null,
    createdAt: 1,
    updatedAt: 1,
    isActive: false,
    isRunning: false,
    isComposingMessage: false,
    isRunningTurn: false,
    isRetrying: false,
    lastEntry: null,
    lastMessageId: null,
    lastMessagePreview: null,
    lastMessageAuthorId: null,
    newestEntryId: null,
    hasUnread: false,
    unreadCount: 0,
    lastViewedAt: null,
    lastActivityAt: null,
    awaitingUserResponse: null,
    notificationsEnabled: true,
    notifyOnUpdatesEnabled: true,
    isHiddenFromSidebar: false,
    origin: input?.origin ?? "user",
    isGroup: false,
    memberIds: [],
    conversationPartnerIds: [],
  };
}

export interface MemoryState {
  readonly agents: AgentSummary[];
  readonly entries: TranscriptEntry[];
  readonly prompts: Map<string, { digest: string; text: string; record: AcceptanceRecord }>;
}

export function memoryDirectory({ agents, entries }: MemoryState): AgentDirectory {
  const creations = new Map<string, { digest: string; agent: AgentSummary }>();
  let active: AgentId | null = null;

  function found(id: AgentId): AgentSummary {
    const agent = agents.find((row) => row.id === id);
    if (agent === undefined) throw new BoxError("gateway/agent-not-found", "no agent has this id");
    return agent;
  }

  return {
    list: () => agents,
    count: () => agents.length,
    async create(input) {
      const seen = input.clientNonce === undefined ? undefined : creations.get(input.clientNonce);
      if (seen !== undefined) {
        return seen.digest === input.digest ? { kind: "existing", agent: seen.agent } : { kind: "conflict" };
      }
      const agent = summaryOf(randomIds.next(), input);
      agents.push(agent);
      active ??= agent.id;
      if (input.clientNonce !== undefined) creations.set(input.clientNonce, { digest: input.digest, agent });
      return { kind: "created", agent };
    },
    async update(id, profile) {
      const index = agents.findIndex((row) => row.id === id);
      const before = agents[index];
      if (before === undefined) return null;
      const after = { ...before, ...profile } as AgentSummary;
      agents[index] = after;
      return after;
    },
    async remove(ids) {
      for (const id of ids) {
        const index = agents.findIndex((row) => row.id === id);
        if (index >= 0) agents.splice(index, 1);
        if (active === id) active = null;
      }
    },
    async reads(id) {
      found(id);
      return memoryReads(entries);
    },
    activeAgentId: () => active,
    async activate(id) {
      active = found(id).id;
    },
    summary: found,
  };
}

export function memoryDesk({ prompts }: MemoryState, directory: AgentDirectory): PromptDesk {
  return {
    async accept(input) {
      const seen = prompts.get(input.nonce);
      const agentId = input.agentId ?? seen?.record.agentId ?? directory.activeAgentId();
      if (agentId === null)
        throw new BoxError("gateway/bad-request", "agentId is missing and no agent is active");
      const digest = input.digestFor(agentId);
      if (seen !== undefined) {
        return seen.digest === digest ? { kind: "accepted", record: seen.record } : { kind: "conflict" };
      }
      directory.summary(agentId);
      const record: AcceptanceRecord = {
        accountSlot: "host",
        clientNonce: input.nonce,
        inputDigest: digest,
        status: "accepted",
        acceptedAtMs: 1,
        agentId,
        echoEntryId: brandId<EntryId>("e"),
        rejectionCode: null,
      };
      prompts.set(input.nonce, { digest, text: input.text, record });
      return { kind: "accepted", record };
    },
    async status({ clientNonce }) {
      const seen = prompts.get(clientNonce);
      return seen === undefined ? { outcome: "not-found" } : { outcome: "found", record: seen.record };
    },
    async interrupt(id) {
      directory.summary(id);
      return { hadActiveRun: false };
    },
  };
}

export function memoryStatus(directory: AgentDirectory, onStatus: () => void): HostStatus {
  return {
    version: "0.1.0",
    startedAt,
    activeAgentId: () => directory.activeAgentId(),
    isBusy() {
      onStatus();
      return false;
    },
    busyOnlyAwaitingApproval: () => false,
    lastBusyAtMs: () => null,
    runningTurns: () => 0,
    async asyncTasks(id) {
      directory.summary(id);
      return [];
    },
    async subagents(id) {
      directory.summary(id);
      return [];
    },
  };
}

function memoryReads(entries: readonly TranscriptEntry[]): AgentReads {
  const rows = entries.map((entry, index) => ({ seq: index + 1, entry }));
  return {
    getValue: () => undefined,
    findEntry: () => undefined,
    entriesBefore({ limit, beforeSeq }) {
      const older = rows.filter((row) => row.seq < (beforeSeq ?? Number.POSITIVE_INFINITY));
      return { entries: older.slice(-limit), more: older.length > limit };
    },
    findPrompt: () => undefined,
    pendingPrompts: () => [],
    openTurn: () => undefined,
    settledTurns: () => [],
    records: () => [],
    lastSeq: () => rows.length,
  };
}
