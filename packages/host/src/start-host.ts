/**
 * Puts the host together and starts it: lock, index, agents, turns, gateway; then the open turns of earlier starts go
 * on. The only file that names concrete adapters.
 *
 * Closing goes the other way round: prompts are refused, running effects are left where they are (commands live on in
 * the daemon, and their turns go on at the next start), streams end, stores close, the lock is given up last.
 */
import { mkdirSync } from "node:fs";
import type { AgentStore } from "@sand/agent-core";
import { createModel } from "@sand/inference";
import { createScope, type Logger, type Scope } from "@sand/node-kit";
import type { AgentId, Clock, HostEvent, IdSource } from "@sand/protocol";
import { acquireHostLock, type OpenedHostIndex, openAgentStore, openHostIndex } from "@sand/store";
import { openActiveAgent } from "./agents/active-agent.ts";
import { createAgentDirectory, emptyTrash } from "./agents/agent-directory.ts";
import { agentsFolder } from "./agents/agent-files.ts";
import { createOpenAgents, type OpenAgents } from "./agents/open-agents.ts";
import type { BoxKeeper, BoxPort } from "./box/box-port.ts";
import { createBoxKeeper } from "./box/create-box-keeper.ts";
import type { HostConfig } from "./config.ts";
import { createEventHub, type EventHub } from "./events/event-hub.ts";
import { createHostReplay } from "./events/host-replay.ts";
import { createCommandHandlers } from "./gateway/commands/create-handlers.ts";
import { startGateway } from "./gateway/start-gateway.ts";
import { createHostStatus } from "./host-status.ts";
import { createPromptDesk } from "./prompts/prompt-desk.ts";
import { createTools } from "./tools/create-tools.ts";
import { createIdleEcho } from "./turns/idle-echo.ts";
import { createRunAgent } from "./turns/run-agent.ts";
import { createStopTurns } from "./turns/stop-turns.ts";
import { createTurnQueue, type TurnQueue } from "./turns/turn-queue.ts";

export interface HostDeps {
  readonly config: HostConfig;
  readonly version: string;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** the exec-daemon's program; found beside the host's own when absent */
  readonly daemonProgram?: string;
}

export interface Host extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

export async function startHost(deps: HostDeps): Promise<Host> {
  const { config, clock, ids, logger } = deps;
  const scope = createScope("host", (error, task) =>
    logger.error({ event: "task.failed", task, err: error }, "background work failed"),
  );
  try {
    const lock = acquireHostLock({ root: config.dataRoot, pid: process.pid });
    scope.defer(() => lock.release());
    mkdirSync(agentsFolder(config.dataRoot), { recursive: true, mode: 0o700 });
    const startedAt = clock.nowMs();
    const { index, hub } = openIndexWithHub(deps);
    scope.defer(() => index.close());
    const active = openActiveAgent(config.dataRoot);
    const activeAgentId = () => active.current();
    const publish = (events: readonly HostEvent[]) => hub.publish(events);
    const open = createOpenAgents({
      dataRoot: config.dataRoot,
      index,
      activeAgentId,
      openStore: openStoreWith(deps, index, publish),
    });
    scope.defer(() => open.closeAll());
    const box = createBoxKeeper({
      exec: config.exec,
      dataRoot: config.dataRoot,
      workspaceRoot: config.workspaceRoot,
      clock,
      logger,
      ...(deps.daemonProgram === undefined ? {} : { daemonProgram: deps.daemonProgram }),
    });
    scope.defer(() => box.close());
    const echo = createIdleEcho({ open, publish, activeAgentId });
    scope.defer(() => echo.close());
    const { queue, busyHistory } = startQueue(deps, scope, { open, box, publish, onSettled: echo.schedule });
    const stopTurns = createStopTurns({ open, queue, clock, box: () => box.peek() });
    const directory = createAgentDirectory({
      dataRoot: config.dataRoot,
      index,
      open,
      active,
      clock,
      ids,
      stopTurns,
    });
    const desk = createPromptDesk({ index, open, queue, clock, ids, activeAgentId });
    const status = createHostStatus({
      version: deps.version,
      startedAt,
      queue,
      box,
      clock,
      activeAgentId,
      busyHistory,
    });
    const handlers = createCommandHandlers({ directory, desk, status, ids });
    const replay = createHostReplay({
      index,
      openStore: async (agentId) => (await open.open(agentId)).store,
    });
    const gateway = await startGateway({
      config: { ...config.gateway, dataRoot: config.dataRoot },
      handlers,
      hub,
      replay,
      status,
      logger,
      clock,
      ids,
    });
    scope.defer(() => gateway.close());
    // First of all: what still arrives while the gateway closes is refused with the advice to send it again.
    scope.defer(() => queue.close());
    for (const row of index.agents()) if (row.hasOpenTurn) queue.wake(row.agentId);
    emptyTrash(config.dataRoot);
    logger.info({ event: "host.started", url: gateway.url, agents: index.agents().length }, "the host is up");
    return { url: gateway.url, close: () => scope.close(), [Symbol.asyncDispose]: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

type Publish = (events: readonly HostEvent[]) => void;

/** The hub starts at the newest `seq` of earlier runs, which only the opened index knows. */
function openIndexWithHub({ config, clock, logger }: HostDeps): { index: OpenedHostIndex; hub: EventHub } {
  const early: HostEvent[] = [];
  let publish: Publish = (events) => early.push(...events);
  const index = openHostIndex({
    root: config.dataRoot,
    onCommitted: (events) => publish(events),
    clock,
    logger,
  });
  const hub = createEventHub({ lastSeq: index.lastSeq() });
  publish = (events) => hub.publish(events);
  return { index, hub };
}

function openStoreWith({ logger }: HostDeps, index: OpenedHostIndex, publish: Publish) {
  return async (agentId: AgentId, folder: string): Promise<AgentStore> =>
    openAgentStore({
      directory: folder,
      agentId,
      seq: index.seq,
      onCommitted(events) {
        // Replay opens only the agents whose row says that they have something, so the row must know first.
        index.noteLastSeq(agentId, events.at(-1)?.seq ?? 0);
        publish(events);
      },
      logger,
    });
}

interface QueueParts {
  readonly open: OpenAgents;
  readonly box: BoxKeeper;
  readonly publish: Publish;
  onSettled(agentId: AgentId): void;
}

function startQueue(
  { config, clock, ids, logger }: HostDeps,
  host: Scope,
  { open, box, publish, onSettled }: QueueParts,
) {
  const turns = createScope("turns", (error, task) =>
    logger.error({ event: "turn.failed", task, err: error }, "a turn stopped on an error"),
  );
  host.defer(() => turns.close());
  const model = createModel(config.model, { clock });
  const services = {
    model,
    toolsFor: (found: BoxPort) => createTools({ box: found, clock }),
    box,
    clock,
    ids,
    logger,
    workspaceRoot: config.workspaceRoot,
    windowTokensMax: config.windowTokensMax,
    publish,
    onSettled,
  };
  let lastBusyAtMs: number | null = null;
  const queue: TurnQueue = createTurnQueue({
    scope: turns,
    run: createRunAgent({ open, services, bootId: ids.next() }),
    onBusyChange() {
      lastBusyAtMs = clock.nowMs();
    },
    onRetry(agentId, error, failures) {
      logger.warn({ event: "turn.waits", agentId, code: error.code, failures }, error.message);
    },
    clock,
  });
  return { queue, busyHistory: () => ({ lastBusyAtMs }) };
}
