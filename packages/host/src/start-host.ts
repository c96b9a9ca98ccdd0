/**
 * Puts the host together and starts it: lock, index, agents, turns, gateway; then the open turns of earlier starts go
 * on. The only file that names concrete adapters.
 *
 * Closing goes the other way round: prompts are refused, running effects are left where they are (commands live on in
 * the daemon, and their turns go on at the next start), streams end, stores close, the lock is given up last.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createKeyedMutex, createScope, failpoint, type Logger, type Scope } from "@sand/node-kit";
import type { AgentId, Clock, HostEvent, IdSource } from "@sand/protocol";
import {
  type AgentWorkerPool,
  createAgentWorkerPool,
  type HostLock,
  type OpenedHostIndex,
} from "@sand/store";
import { refusePartialRoot } from "@sand/store/box-store";
import { type ActiveAgent, openActiveAgent } from "./agents/active-agent.ts";
import { createAgentDirectory, emptyTrash } from "./agents/agent-directory.ts";
import { agentsFolder } from "./agents/agent-files.ts";
import { createAgentSwitches } from "./agents/agent-switches.ts";
import { catchUpRoster } from "./agents/catch-up-roster.ts";
import { createOpenAgents, type OpenAgents } from "./agents/open-agents.ts";
import { openStoreWith } from "./agents/open-store.ts";
import { createBoxKeeper, type ReachableBoxKeeper } from "./box/create-box-keeper.ts";
import { createBoxStoreDesk } from "./box-store/box-store-desk.ts";
import type { HostConfig } from "./config.ts";
import type { EventHub } from "./events/event-hub.ts";
import { createHostReplay } from "./events/host-replay.ts";
import { openIndexWithHub } from "./events/open-index-with-hub.ts";
import { createCommandHandlers } from "./gateway/commands/create-handlers.ts";
import { discoveryPath } from "./gateway/discovery-file.ts";
import { startGateway } from "./gateway/start-gateway.ts";
import { openHostSettings } from "./host-settings.ts";
import { createHostStatus } from "./host-status.ts";
import { createProjections, type Projections } from "./projections/projections.ts";
import { createPromptDesk } from "./prompts/prompt-desk.ts";
import { createRepairDesk, type RepairDesk } from "./recovery/repair-desk.ts";
import { startQueue } from "./start-queue.ts";
import { createIdleEcho } from "./turns/idle-echo.ts";
import { createStopTurns } from "./turns/stop-turns.ts";
import type { TurnQueue } from "./turns/turn-queue.ts";
import { takeLock } from "./upgrade/take-lock.ts";
import { createUpgradeDesk, type OwnedUpgradeDesk } from "./upgrade/upgrade-desk.ts";

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
  /** replace a host that runs on the same data root */
  readonly takeOver?: boolean;
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
    const lock = await takeHostLock(deps);
    const state = openState(deps, scope, lock);
    const work = startWork(deps, scope, state);
    const url = await openDoors(deps, scope, state, work);
    scope.run("go on", async (signal) => {
      // `/health` answers meanwhile, and a command that needs the roster brings the rest of it forward.
      if (!(await catchUpRoster({ index: state.index, clock: deps.clock, logger }, signal))) return;
      // Only now, with the doors open: what these turns do is seen from its first event on.
      for (const row of state.index.agents()) if (row.hasOpenTurn) work.queue.wake(row.agentId);
      work.goesOn();
      state.projections.start();
      await state.repairDesk.openUnlisted(new Set(state.index.agents().map((row) => row.agentId)), signal);
      if (signal.aborted) return;
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
  readonly repairDesk: RepairDesk;
  readonly publish: Publish;
  activeAgentId(): AgentId | null;
}

function takeHostLock({ config, clock, logger, takeOver = false }: HostDeps): Promise<HostLock> {
  const { dataRoot, gateway } = config;
  const certificate = gateway.tls?.cert ?? null;
  return takeLock({
    ...{ dataRoot, discoveryFile: discoveryPath(dataRoot), certificate, takeOver, clock, logger },
  });
}

/** Everything durable: the lock first, then the index, then the way to the agents. */
function openState(deps: HostDeps, scope: Scope, lock: HostLock): HostState {
  const { dataRoot } = deps.config;
  scope.defer(() => {
    lock.release();
    failpoint("upgrade.released");
  });
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
  const repairDesk = openRepairDesk(deps, index);
  const openStore = openStoreWith({
    logger: deps.logger,
    index,
    publish,
    blobWorkers,
    projections,
    repairDesk,
  });
  const open = createOpenAgents({ dataRoot, index, activeAgentId, openStore });
  scope.defer(() => open.closeAll());
  scope.defer(() => projections.close());
  scope.defer(() => repairDesk.repairs.settled());
  return { startedAt, index, hub, active, open, projections, repairDesk, publish, activeAgentId };
}

interface HostWork {
  readonly upgrade: OwnedUpgradeDesk;
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
  const { config, clock, ids, logger, daemonProgram } = deps;
  const { exec, dataRoot, workspaceRoot } = config;
  const upgrade = createUpgradeDesk({
    ...{ dataRoot, open, queue: () => started.queue, schedules: [], scope, clock, ids, logger },
  });
  // After the turns have ended, before the stores close.
  scope.defer(() => upgrade.close());
  const program = daemonProgram === undefined ? {} : { daemonProgram };
  const box = createBoxKeeper({ exec, dataRoot, workspaceRoot, clock, logger, ...program });
  scope.defer(() => box.close());
  const echo = createIdleEcho({ open, publish, activeAgentId });
  scope.defer(() => echo.close());
  const started = startQueue(deps, scope, { open, box, publish, onSettled: echo.schedule });
  let isUp = false;
  return {
    ...{ box, upgrade },
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
    whenRepaired: state.repairDesk.whenRepaired,
  });
  const desk = createPromptDesk({ index, open, queue, clock, ids, activeAgentId });
  const mayGoOn = () => work.isComingUp() && index.mayHaveOpenTurns();
  const status = createHostStatus({
    ...{ version, startedAt, queue, box, clock, activeAgentId, busyHistory, mayGoOn },
    storeRepairs: state.repairDesk.notes,
  });
  state.repairDesk.serve({ open, wake: queue.wake });
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
    ...{ upgrade: work.upgrade, logger },
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

/** Threads for large payloads; none runs before the first of those. */
function programOf({ program }: { readonly program?: string | undefined }): string {
  return program ?? join(import.meta.dirname, "main.ts");
}

function createBlobWorkers({ config, logger, program }: HostDeps): AgentWorkerPool {
  const { dataRoot, failpoint } = config;
  const entry = programOf({ program });
  return createAgentWorkerPool({ entry, dataRoot, logger, ...(failpoint === null ? {} : { failpoint }) });
}

/** Repairs of damaged stores; no thread runs before the first of those. */
function openRepairDesk({ config, clock, logger, program }: HostDeps, index: OpenedHostIndex): RepairDesk {
  const { dataRoot, failpoint: armed } = config;
  const entry = programOf({ program });
  const lastSeq = () => index.lastSeq();
  return createRepairDesk({
    ...{ dataRoot, entry, clock, logger, lastSeq },
    ...(armed === null ? {} : { failpoint: armed }),
  });
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
