/**
 * Puts the host together and starts it: lock, index, agents, turns, gateway; then the open turns of earlier starts go
 * on. The only file that names concrete adapters.
 *
 * Closing goes the other way round: prompts are refused, running effects are left where they are (commands live on in
 * the daemon, and their turns go on at the next start), streams end, stores close, the lock is given up last.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createModel } from "@sand/inference";
import { createKeyedMutex, createScope, type Logger, type Scope } from "@sand/node-kit";
import type { AgentId, Clock, HostEvent, IdSource } from "@sand/protocol";
import {
  type AgentWorkerPool,
  acquireHostLock,
  createAgentWorkerPool,
  type OpenedHostIndex,
  openHostIndex,
} from "@sand/store";
import { refusePartialRoot } from "@sand/store/box-store";
import { type ActiveAgent, openActiveAgent } from "./agents/active-agent.ts";
import { createAgentDirectory, emptyTrash } from "./agents/agent-directory.ts";
import { agentsFolder } from "./agents/agent-files.ts";
import { createAgentSwitches } from "./agents/agent-switches.ts";
import { catchUpRoster } from "./agents/catch-up-roster.ts";
import { createOpenAgents, type OpenAgents } from "./agents/open-agents.ts";
import { openStoreWith } from "./agents/open-store.ts";
import type { BoxKeeper, BoxPort } from "./box/box-port.ts";
import { createBoxKeeper, type ReachableBoxKeeper } from "./box/create-box-keeper.ts";
import { createBoxStoreDesk } from "./box-store/box-store-desk.ts";
import type { HostConfig } from "./config.ts";
import { createEventHub, type EventHub } from "./events/event-hub.ts";
import { createHostReplay } from "./events/host-replay.ts";
import { createCommandHandlers } from "./gateway/commands/create-handlers.ts";
import { startGateway } from "./gateway/start-gateway.ts";
import { openHostSettings } from "./host-settings.ts";
import { createHostStatus } from "./host-status.ts";
import { createProjections, type Projections } from "./projections/projections.ts";
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
  /** the host's own program, which its threads are started from; the sources' when absent */
  readonly program?: string;
}

export interface Host extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

export async function startHost(deps: HostDeps): Promise<Host> {
  const { config, logger } = deps;
  const scope = createScope("host", (error, task) =>
    logger.error({ event: "task.failed", task, err: error }, "background work failed"),
  );
  try {
    const state = openState(deps, scope);
    const work = startWork(deps, scope, state);
    const url = await openDoors(deps, scope, state, work);
    scope.run("go on", async (signal) => {
      // `/health` answers meanwhile, and a command that needs the roster brings the rest of it forward.
      if (!(await catchUpRoster({ index: state.index, clock: deps.clock, logger }, signal))) return;
      // Only now, with the doors open: what these turns do is seen from its first event on.
      for (const row of state.index.agents()) if (row.hasOpenTurn) work.queue.wake(row.agentId);
      work.goesOn();
      state.projections.start();
      emptyTrash(config.dataRoot);
      logger.info({ event: "host.started", url, agents: state.index.agents().length }, "the host is up");
    });
    return { url, close: () => scope.close(), [Symbol.asyncDispose]: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

interface HostState {
  readonly startedAt: number;
  readonly index: OpenedHostIndex;
  readonly hub: EventHub;
  readonly active: ActiveAgent;
  readonly open: OpenAgents;
  readonly projections: Projections;
  readonly publish: Publish;
  activeAgentId(): AgentId | null;
}

/** Everything durable: the lock first, then the index, then the way to the agents. */
function openState(deps: HostDeps, scope: Scope): HostState {
  const { dataRoot } = deps.config;
  const lock = acquireHostLock({ root: dataRoot, pid: process.pid });
  scope.defer(() => lock.release());
  refusePartialRoot(dataRoot);
  mkdirSync(agentsFolder(dataRoot), { recursive: true, mode: 0o700 });
  const startedAt = deps.clock.nowMs();
  const { index, hub } = openIndexWithHub(deps);
  scope.defer(() => index.close());
  const active = openActiveAgent(dataRoot);
  const activeAgentId = () => active.current();
  const publish = (events: readonly HostEvent[]) => hub.publish(events);
  const blobWorkers = createBlobWorkers(deps);
  scope.defer(() => blobWorkers.close());
  const projections = startProjections(deps, index);
  const openStore = openStoreWith({ logger: deps.logger, index, publish, blobWorkers, projections });
  const open = createOpenAgents({ dataRoot, index, activeAgentId, openStore });
  scope.defer(() => open.closeAll());
  scope.defer(() => projections.close());
  return { startedAt, index, hub, active, open, projections, publish, activeAgentId };
}

interface HostWork {
  readonly box: ReachableBoxKeeper;
  readonly queue: TurnQueue;
  busyHistory(): { readonly lastBusyAtMs: number | null };
  /** whether something works on the agent's open turn, or will as soon as the turns of earlier starts go on */
  isWorkedOn(agentId: AgentId): boolean;
  /** until the turns of earlier starts go on */
  isComingUp(): boolean;
  /** the turns of earlier starts go on */
  goesOn(): void;
}

/** What turns need: the box, the queue of their runs, and the echo of their end. */
function startWork(deps: HostDeps, scope: Scope, { open, publish, activeAgentId }: HostState): HostWork {
  const { config, clock, logger, daemonProgram } = deps;
  const { exec, dataRoot, workspaceRoot } = config;
  const program = daemonProgram === undefined ? {} : { daemonProgram };
  const box = createBoxKeeper({ exec, dataRoot, workspaceRoot, clock, logger, ...program });
  scope.defer(() => box.close());
  const echo = createIdleEcho({ open, publish, activeAgentId });
  scope.defer(() => echo.close());
  const started = startQueue(deps, scope, { open, box, publish, onSettled: echo.schedule });
  let isUp = false;
  return {
    box,
    ...started,
    isWorkedOn: (agentId) => !isUp || started.queue.isRunning(agentId),
    isComingUp: () => !isUp,
    goesOn() {
      isUp = true;
    },
  };
}

/** The gateway over the host's commands; resolves with what clients dial. */
async function openDoors(deps: HostDeps, scope: Scope, state: HostState, work: HostWork): Promise<string> {
  const { config, clock, ids, logger, version } = deps;
  const { dataRoot } = config;
  const { index, hub, open, active, projections, activeAgentId, startedAt } = state;
  const { queue, box, busyHistory, isWorkedOn } = work;
  const stopTurns = createStopTurns({ open, queue, clock, box: () => box.peek() });
  const exclusive = createKeyedMutex();
  const rosterParts = { dataRoot, index, open, active, clock, ids, exclusive };
  const directory = createAgentDirectory({
    ...{ ...rosterParts, isWorkedOn, stopTurns },
    forgetProjections: projections.forget,
  });
  const desk = createPromptDesk({ index, open, queue, clock, ids, activeAgentId });
  const mayGoOn = () => work.isComingUp() && index.mayHaveOpenTurns();
  const status = createHostStatus({
    ...{ version, startedAt, queue, box, clock, activeAgentId, busyHistory, mayGoOn },
  });
  const switches = createAgentSwitches({ open, clock, exclusive });
  const settings = openHostSettings({ dataRoot, index, logger });
  const lastSeq = () => index.lastSeq();
  const boxStore = createBoxStoreDesk({
    dataRoot,
    config: config.boxStore,
    program: programOf(deps),
    scope,
    logger,
    lastSeq,
  });
  const handlers = createCommandHandlers({
    ...{ directory, switches, settings, desk, boxStore, search: projections, status, ids },
  });
  const replay = createHostReplay({ index, openStore: async (id) => (await open.open(id)).store });
  const gatewayConfig = { ...config.gateway, dataRoot };
  const gateway = await startGateway({
    config: gatewayConfig,
    handlers,
    hub,
    replay,
    status,
    logger,
    clock,
    ids,
    reachBox: box.reach,
  });
  scope.defer(() => gateway.close());
  // First of all: what still arrives while the gateway closes is refused with the advice to send it again.
  scope.defer(() => queue.close());
  return gateway.url;
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

/** Threads for large payloads; none runs before the first of those. */
function programOf({ program }: { readonly program?: string | undefined }): string {
  return program ?? join(import.meta.dirname, "main.ts");
}

function createBlobWorkers({ config, logger, program }: HostDeps): AgentWorkerPool {
  const { dataRoot, failpoint } = config;
  const entry = programOf({ program });
  return createAgentWorkerPool({ entry, dataRoot, logger, ...(failpoint === null ? {} : { failpoint }) });
}

/** Journals and the search, made by a thread that isn't started before there is something to do. */
function startProjections({ config, logger, program }: HostDeps, index: OpenedHostIndex): Projections {
  const { dataRoot, failpoint } = config;
  return createProjections({
    ...{ dataRoot, entry: programOf({ program }), logger },
    ...(failpoint === null ? {} : { failpoint }),
    agents: () => index.agents(),
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
