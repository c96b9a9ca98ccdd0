/** The gateway's ports in memory, for tests of the gateway alone. They keep the promises of `host-ports.ts` and no more. */
import type { AgentReads, EntryPage, PageBounds } from "@sand/agent-core";
import { randomIds } from "@sand/node-kit";
import {
  type AcceptanceRecord,
  type AgentId,
  type AgentSummary,
  BoxError,
  brandId,
  type EntryId,
  parseHostSettings,
  type TranscriptEntry,
} from "@sand/protocol";
import type {
  AgentDirectory,
  AgentSwitches,
  CreateAgentInput,
  HostSettingsDesk,
  HostStatus,
  PromptDesk,
  SearchDesk,
} from "../src/gateway/host-ports.ts";

/** The search is a projection of stores, and these ports have none. */
export const memorySearch: SearchDesk = {
  searchMessages: async () => [],
  searchMedia: async () => [],
  rebuild: () => undefined,
  status: () => ({ state: "ready", agentsDone: 0, agentsTotal: 0 }),
};

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

export function memorySwitches({ agents }: MemoryState): AgentSwitches {
  function change(id: AgentId, fields: Partial<AgentSummary>): void {
    const index = agents.findIndex((row) => row.id === id);
    const before = agents[index];
    if (before === undefined) throw new BoxError("gateway/agent-not-found", "no agent has this id");
    agents[index] = { ...before, ...fields };
  }

  return {
    async setUnread(id, { isUnread }) {
      change(id, { hasUnread: isUnread, unreadCount: isUnread ? 1 : 0 });
    },
    async changeSettings(id, { notificationsEnabled, notifyOnAgentUpdates, hiddenFromSidebar }) {
      change(id, {
        ...(notificationsEnabled === undefined ? {} : { notificationsEnabled }),
        ...(notifyOnAgentUpdates === undefined ? {} : { notifyOnUpdatesEnabled: notifyOnAgentUpdates }),
        ...(hiddenFromSidebar === undefined ? {} : { isHiddenFromSidebar: hiddenFromSidebar }),
      });
    },
  };
}

export function memorySettings(): HostSettingsDesk {
  let settings = parseHostSettings({});
  return {
    read: () => settings,
    async change(patch) {
      settings = parseHostSettings({ ...settings, ...patch });
      return settings;
    },
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
    storeRepairs: () => [],
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
  function page(found: typeof rows, { limit, beforeSeq }: PageBounds): EntryPage {
    const older = found.filter((row) => row.seq < (beforeSeq ?? Number.POSITIVE_INFINITY));
    return { entries: older.slice(-limit), more: older.length > limit };
  }
  return {
    getValue: () => undefined,
    findEntry: () => undefined,
    entriesBefore: (bounds) => page(rows, bounds),
    windowBefore: (bounds) =>
      page(
        rows.filter(({ entry }) => entry.kind !== "tool-call"),
        bounds,
      ),
    entriesInSpan: ({ sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, ...bounds }) =>
      page(
        rows.filter(({ entry }) => entry.timestampMs >= sinceMs && entry.timestampMs <= untilMs),
        bounds,
      ),
    repliesTo: () => [],
    countReplies: () => 0,
    findPrompt: () => undefined,
    pendingPrompts: () => [],
    openTurn: () => undefined,
    settledTurns: () => [],
    records: () => [],
    recordsOfKind: () => [],
    lastSeq: () => rows.length,
  };
}
