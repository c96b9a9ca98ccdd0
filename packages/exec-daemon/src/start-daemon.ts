/**
 * Puts the daemon together: policy, ledger, keepers, port, discovery file. Only this file names them all.
 *
 * Ending is graceful for callers and leaves commands alone: calls end, idle keepers go, what runs runs on.
 */
import { mkdirSync } from "node:fs";
import {
  armFailpoints,
  createScope,
  type Logger,
  type ProcessIdentity,
  readProcessIdentity,
  type Scope,
  systemClock,
} from "@sand/node-kit";
import { invariant } from "@sand/protocol";
import { type BoxPolicy, openBoxPolicy } from "./box-policy.ts";
import type { DaemonConfig } from "./config.ts";
import { type BoxEnvironment, createBoxEnvironment } from "./control/box-environment.ts";
import { withEnvironment } from "./control/live-policy.ts";
import { openControl } from "./control/open-control.ts";
import { createPing, type Ping } from "./control/ping.ts";
import { takeDaemonLock } from "./daemon-lock.ts";
import { publishDiscovery } from "./discovery-file.ts";
import type { E2bDeps } from "./e2b/open-e2b-surface.ts";
import { openEnclosure } from "./enclosure/open-enclosure.ts";
import { openBoxFiles } from "./files/open-files.ts";
import { type OpenedKeepers, openKeepers } from "./keeper/open-keepers.ts";
import { type Ledger, openLedger } from "./ledger/ledger.ts";
import { limits } from "./limits.ts";
import { createOutputStream } from "./output-stream.ts";
import { type Attach, createAttach } from "./processes/attach.ts";
import { startTerminals } from "./pty/start-terminals.ts";
import { createRoutes } from "./routes.ts";
import { startRpcServer } from "./rpc-server.ts";
import { openShells } from "./shells/open-shells.ts";
import { keepTokenFile } from "./token-file.ts";

export interface Daemon extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

export interface DaemonDeps {
  readonly config: DaemonConfig;
  readonly log: Logger;
  /** how to start this program again, for keepers */
  readonly selfCommand: readonly [string, ...string[]];
}

export async function startDaemon(deps: DaemonDeps): Promise<Daemon> {
  const { config, log } = deps;
  armFailpoints(config.failpoint);
  mkdirSync(config.dataRoot, { recursive: true, mode: 0o700 });
  const identity = readProcessIdentity(process.pid);
  invariant(identity !== undefined, "a process can read its own identity");
  const scope = createScope("daemon", (error, task) =>
    log.error({ event: "daemon.task-failed", task, err: error }, "background work failed"),
  );
  try {
    scope.defer(takeDaemonLock(config.dataRoot, identity));
    const port = await open(deps, scope, identity);
    return { port, close: () => scope.close(), [Symbol.asyncDispose]: () => scope.close() };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function open(deps: DaemonDeps, scope: Scope, identity: ProcessIdentity): Promise<number> {
  const { config, log } = deps;
  const environment = createBoxEnvironment();
  const [opened, keeper] = await Promise.all([openBoxPolicy(config), openKeepers({ ...deps, scope })]);
  const policy = withEnvironment(opened, environment);
  saySandbox(log, config, policy);
  const ledger = openLedger({ dataRoot: config.dataRoot, enabled: config.ledger, clock: systemClock, log });
  scope.defer(() => ledger.close());
  await openEnclosure({ policy, ledger, scope, log });
  const ping = createPing({ ledger, identity, workspaceRoot: policy.workspaceRoot });
  scope.defer(() => ping[Symbol.dispose]());
  const attach = createAttach(ledger, systemClock);
  const routes = openRoutes({ ...deps, scope, policy, environment, ledger, attach, keeper, ping });
  const terminals = await startTerminals({
    ...deps,
    policy,
    ledger,
    keeper,
    entry: deps.selfCommand[1] ?? "",
  });
  scope.defer(() => terminals.close());
  const e2b = await openSurface({ config, policy, routes, terminals: terminals.table, log }, scope);
  // Last, so that whoever gets an answer on a known port finds the discovery file right behind it.
  const server = await startRpcServer({
    host: config.host,
    port: config.rpcPort,
    token: config.token,
    routes,
    stream: createOutputStream(attach, log),
    log,
  });
  scope.defer(() => server.close());
  await publishDiscovery(scope, config.dataRoot, {
    version: 1,
    host: config.host,
    rpcPort: server.port,
    ptyPort: terminals.port,
    ...(e2b === undefined ? {} : { e2b }),
    ...identity,
    startedAtMs: systemClock.nowMs(),
  });
  startUpkeep(scope, ledger, keeper);
  keepTokenFile(scope, config);
  log.info(
    { event: "daemon.started", port: server.port, executions: ledger.list().length },
    "the exec-daemon is ready",
  );
  return server.port;
}

interface RouteParts extends DaemonDeps {
  readonly scope: Scope;
  readonly policy: BoxPolicy;
  readonly environment: BoxEnvironment;
  readonly ledger: Ledger;
  readonly attach: Attach;
  readonly keeper: OpenedKeepers;
  readonly ping: Ping;
}

function openRoutes({ config, log, selfCommand, ...parts }: RouteParts) {
  const { scope, policy, environment, ledger, attach, keeper, ping } = parts;
  const run = (name: string, work: (signal: AbortSignal) => Promise<void>): void => scope.run(name, work);
  const control = openControl({ ...config, policy, environment, ledger, scope, log });
  const shells = openShells({ ...config, policy, environment, ledger, scope, log });
  return createRoutes({
    shells,
    control,
    ledger,
    attach,
    policy,
    sandbox: config.sandbox,
    keeper,
    ping,
    files: openBoxFiles({ ...config, selfCommand, policy, log, scope }),
    start: {
      ledger,
      keepers: keeper.pool,
      policy,
      clock: systemClock,
      ledgerEnabled: config.ledger,
      secretsFor: environment.commandSecrets,
      run: (name, work) => void followKeeper(work, log, name),
      onStarted: shells.onStarted,
    },
    signal: { ledger, clock: systemClock, run },
  });
}

/** Loaded only when it is asked for. */
async function openSurface(deps: Omit<E2bDeps, "e2b"> & { readonly config: DaemonConfig }, scope: Scope) {
  const { e2b } = deps.config;
  if (e2b === undefined) return undefined;
  const { openE2bSurface } = await import("./e2b/open-e2b-surface.ts");
  return await openE2bSurface({ ...deps, e2b }, scope);
}

/** Ends with its keeper, which may be long after us, so no scope waits for it. */
async function followKeeper(work: () => Promise<void>, log: Logger, task: string): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.error({ event: "daemon.task-failed", task, err: error }, "background work failed");
  }
}

function saySandbox(log: Logger, config: DaemonConfig, { decision, user }: BoxPolicy): void {
  for (const warning of config.warnings) log.warn({ event: "config.unknown" }, warning);
  if (config.token === "local") {
    log.warn(
      { event: "token.local" },
      "the token is `local`: any program of this machine can give orders here",
    );
  }
  if (decision.kind === "bare" && user !== undefined) {
    log.info(
      { event: "sandbox.user", user: user.name, reason: decision.reason },
      "commands are kept apart by an account of their own, without bubblewrap",
    );
  } else if (decision.kind === "bare") {
    log.warn(
      { event: "sandbox.off", reason: decision.reason },
      "COMMANDS RUN WITHOUT A SANDBOX and can read what this account can read",
    );
  }
  if (decision.kind === "refuse") {
    log.error(
      { event: "sandbox.missing", missing: decision.missing },
      "a sandbox is required and missing: every command is refused",
    );
  }
}

function startUpkeep(scope: Scope, ledger: Ledger, keeper: OpenedKeepers): void {
  keeper.pool.fill();
  scope.run("look at keepers", async (signal) => {
    while (!signal.aborted) {
      await systemClock.sleep(limits.adoptedCheckEveryMs, signal);
      ledger.check();
    }
  });
  scope.run("forget old executions", async (signal) => {
    while (!signal.aborted) {
      await ledger.prune();
      keeper.sweep();
      await systemClock.sleep(limits.retentionEveryMs, signal);
    }
  });
}
