/**
 * A real gateway on a free loopback port over hand-written ports that hold everything in memory, and a raw client. It
 * leaves nothing behind: the gateway is closed and its folder removed with the `await using` block.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, randomIds, systemClock } from "@sand/node-kit";
import {
  type AcceptanceRecord,
  type AgentId,
  type AgentSummary,
  BoxError,
  brandId,
  type CommittedEvent,
  type EntryId,
  type TranscriptEntry,
} from "@sand/protocol";
import { createEventHub, type EventHub } from "../src/events/event-hub.ts";
import { createCommandHandlers } from "../src/gateway/commands/create-handlers.ts";
import type { GatewayConfig, GatewayLimits } from "../src/gateway/gateway-config.ts";
import type { AgentDirectory, CreateAgentInput, HostStatus, PromptDesk } from "../src/gateway/host-ports.ts";
import { type Gateway, startGateway } from "../src/gateway/start-gateway.ts";

export const token = "test-token-0123456789abcdef";
export const startedAt = 1_700_000_000_000;

export interface GatewayWorld extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly hub: EventHub;
  readonly dataRoot: string;
  readonly log: CommittedEvent[];
  readonly logLines: string[];
  readonly agents: AgentSummary[];
  readonly entries: TranscriptEntry[];
  readonly prompts: Map<string, { digest: string; text: string; record: AcceptanceRecord }>;
  publish(...events: CommittedEvent[]): void;
  post(command: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** sends bytes as they are and collects what comes back until the other side ends or `ms` pass without a byte */
  raw(text: string, quietMs?: number): Promise<string>;
}

export interface WorldOptions {
  readonly token?: string | null;
  readonly limits?: Partial<GatewayLimits>;
  readonly sseGzip?: boolean;
  readonly floor?: number;
  readonly onStatus?: () => void;
}

export async function createGatewayWorld(options: WorldOptions = {}): Promise<GatewayWorld> {
  const dataRoot = await mkdtemp(join(tmpdir(), "sand-gateway-"));
  const state = {
    log: [] as CommittedEvent[],
    logLines: [] as string[],
    agents: [] as AgentSummary[],
    entries: [] as TranscriptEntry[],
    prompts: new Map<string, { digest: string; text: string; record: AcceptanceRecord }>(),
  };
  const hub = createEventHub({ lastSeq: 0, ringMaxEvents: 3 });
  const directory = memoryDirectory(state);
  const config: GatewayConfig = {
    bindHost: "127.0.0.1",
    port: 0,
    token: options.token === undefined ? token : options.token,
    dataRoot: join(dataRoot, "root"),
    tls: null,
    sseGzip: options.sseGzip ?? true,
    limits: { closeGraceMs: 20, ...options.limits },
  };
  const status = memoryStatus(directory, options.onStatus ?? (() => undefined));
  const gateway = await startGateway({
    config,
    handlers: createCommandHandlers({ directory, desk: memoryDesk(state, directory), status, ids: randomIds }),
    hub,
    replay: {
      eventsSince: async (since, limit) =>
        since < (options.floor ?? 0) ? undefined : state.log.filter((event) => event.seq > since).slice(0, limit),
    },
    status,
    logger: createLogger({ name: "test", level: "debug", write: (line) => state.logLines.push(line) }),
    clock: systemClock,
    ids: randomIds,
  });
  const authorization = `Bearer ${token}`;
  return {
    ...state,
    gateway,
    hub,
    dataRoot: config.dataRoot,
    publish(...events) {
      state.log.push(...events);
      hub.publish(events);
    },
    post: (command, body, headers = {}) =>
      fetch(`${gateway.url}/api/${command}`, {
        method: "POST",
        headers: { authorization, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    get: (path, headers = {}) => fetch(`${gateway.url}${path}`, { headers: { authorization, ...headers } }),
    raw: (text, quietMs = 300) => exchange(gateway.port, text, quietMs),
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await rm(dataRoot, { recursive: true, force: true });
    },
  };
}

export function dial(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });
}

async function exchange(port: number, text: string, quietMs: number): Promise<string> {
  const socket = await dial(port);
  const chunks: Buffer[] = [];
  socket.setTimeout(quietMs, () => socket.destroy());
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.write(text, "latin1");
  await new Promise((resolve) => socket.on("close", resolve));
  return Buffer.concat(chunks).toString("utf8");
}

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

interface WorldState {
  readonly agents: AgentSummary[];
  readonly entries: TranscriptEntry[];
  readonly prompts: Map<string, { digest: string; text: string; record: AcceptanceRecord }>;
}

function memoryDirectory({ agents, entries }: WorldState): AgentDirectory {
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
    },
    activeAgentId: () => active,
    async activate(id) {
      active = found(id).id;
    },
    summary: found,
  };
}

function memoryDesk({ prompts }: WorldState, directory: AgentDirectory): PromptDesk {
  return {
    async accept(input) {
      const seen = prompts.get(input.nonce);
      const agentId = input.agentId ?? seen?.record.agentId ?? directory.activeAgentId();
      if (agentId === null) throw new BoxError("gateway/bad-request", "agentId is missing and no agent is active");
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

function memoryStatus(directory: AgentDirectory, onStatus: () => void): HostStatus {
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
