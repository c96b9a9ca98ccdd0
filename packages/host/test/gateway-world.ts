/**
 * A real gateway on a free loopback port over hand-written ports that hold everything in memory, and a raw client. It
 * leaves nothing behind: the gateway is closed and its folder removed with the `await using` block.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createScope, randomIds, systemClock } from "@sand/node-kit";
import type { CommittedEvent } from "@sand/protocol";
import type { ReachBox } from "../src/box/box-doors.ts";
import { createBoxStoreDesk } from "../src/box-store/box-store-desk.ts";
import { createEventHub, type EventHub } from "../src/events/event-hub.ts";
import { createCommandHandlers } from "../src/gateway/commands/create-handlers.ts";
import type { GatewayConfig, GatewayLimits } from "../src/gateway/gateway-config.ts";
import { type Gateway, startGateway } from "../src/gateway/start-gateway.ts";
import {
  type MemoryState,
  memoryDesk,
  memoryDirectory,
  memorySearch,
  memorySettings,
  memoryStatus,
  memorySwitches,
} from "./memory-ports.ts";

export const token = "test-token-0123456789abcdef";

export interface GatewayWorld extends AsyncDisposable, MemoryState {
  readonly gateway: Gateway;
  readonly hub: EventHub;
  readonly dataRoot: string;
  readonly log: CommittedEvent[];
  readonly logLines: string[];
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
  /** how many events the hub keeps for who is behind */
  readonly ringMaxEvents?: number;
  /** runs before a page of the past is read */
  readonly beforeReplay?: () => Promise<void>;
  readonly onStatus?: () => void;
  readonly reachBox?: ReachBox;
}

/** The box store needs a process of its own, and has tests of its own. */
const noBoxStore = createBoxStoreDesk({
  dataRoot: tmpdir(),
  config: null,
  program: "",
  scope: createScope("test", () => undefined),
  logger: createLogger({ name: "test", level: "silent" }),
  lastSeq: () => 0,
});

export async function createGatewayWorld(options: WorldOptions = {}): Promise<GatewayWorld> {
  const folder = await mkdtemp(join(tmpdir(), "sand-gateway-"));
  const dataRoot = join(folder, "root");
  const memory: MemoryState = { agents: [], entries: [], prompts: new Map() };
  const log: CommittedEvent[] = [];
  const logLines: string[] = [];
  const hub = createEventHub({ lastSeq: 0, ringMaxEvents: options.ringMaxEvents ?? 3 });
  const directory = memoryDirectory(memory);
  const status = memoryStatus(directory, options.onStatus ?? (() => undefined));
  const gateway = await startGateway({
    config: configOf(options, dataRoot),
    handlers: createCommandHandlers({
      directory,
      switches: memorySwitches(memory),
      settings: memorySettings(),
      desk: memoryDesk(memory, directory),
      boxStore: noBoxStore,
      search: memorySearch,
      status,
      ids: randomIds,
    }),
    upgrade: {
      prepare: async () => ({
        ...{ quiescing: false, runningTurns: 0, phase: "prepared", turns: [], resumesAtMs: null },
      }),
    },
    hub,
    replay: {
      async eventsSince(since, limit) {
        await options.beforeReplay?.();
        return since < (options.floor ?? 0)
          ? undefined
          : log.filter((event) => event.seq > since).slice(0, limit);
      },
    },
    status,
    logger: createLogger({ name: "test", level: "debug", write: (line) => logLines.push(line) }),
    clock: systemClock,
    ids: randomIds,
    ...(options.reachBox === undefined ? {} : { reachBox: options.reachBox }),
  });
  return {
    ...memory,
    gateway,
    hub,
    dataRoot,
    log,
    logLines,
    publish(...events) {
      log.push(...events);
      hub.publish(events);
    },
    ...clientOf(gateway),
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configOf(options: WorldOptions, dataRoot: string): GatewayConfig {
  return {
    bindHost: "127.0.0.1",
    port: 0,
    token: options.token === undefined ? token : options.token,
    dataRoot,
    tls: null,
    sseGzip: options.sseGzip ?? true,
    limits: { closeGraceMs: 20, ...options.limits },
  };
}

function clientOf(gateway: Gateway): Pick<GatewayWorld, "post" | "get" | "raw"> {
  const authorization = `Bearer ${token}`;
  return {
    post: (command, body, headers = {}) =>
      fetch(`${gateway.url}/api/${command}`, {
        method: "POST",
        headers: { authorization, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    get: (path, headers = {}) => fetch(`${gateway.url}${path}`, { headers: { authorization, ...headers } }),
    raw: (text, quietMs = 300) => exchange(gateway.port, text, quietMs),
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
