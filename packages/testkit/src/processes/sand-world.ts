/**
 * One small world for a proof: a data root, a workspace, a scripted model, a daemon and a host, all processes of their
 * own in one temp folder. Hosts and daemons may be killed and started again; the folder stays.
 *
 * When the world ends, everything that still carries its folder's name is killed by pid, and the folder is removed.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callGateway, type GatewayAccess } from "../gateway-client.ts";
import { findProcessesOf, type LeftProcess } from "../leak-check.ts";
import { createTempFolder } from "../temp-folder.ts";
import { waitUntil } from "../wait-until.ts";
import { type ProcessExit, type StartedProcess, startProcess } from "./child-process.ts";
import { type SandBundles, scriptedModelMain } from "./sand-bundles.ts";

export interface WorldOptions {
  readonly label: string;
  readonly bundles: SandBundles;
  readonly sandbox: "off" | "required";
  /** JSON of the scripted model's rules; the fixed named rules are always there */
  readonly modelScript?: string;
  /** values to plant where secrets go; made up when left out */
  readonly secrets?: Partial<WorldSecrets>;
}

export interface WorldSecrets {
  readonly gateway: string;
  readonly daemon: string;
  readonly provider: string;
}

export interface ProcessExtras {
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** arguments of the program */
  readonly args?: readonly string[];
  /** called with the pid, before anything is waited for */
  readonly onSpawn?: (pid: number) => void;
}

/** a start ends in one of two ways; with a failpoint in the boot the second one is wanted */
export type HostStart =
  | { readonly kind: "ready"; readonly process: StartedProcess; readonly access: GatewayAccess }
  | { readonly kind: "died"; readonly process: StartedProcess; readonly exit: ProcessExit };

export interface SandWorld extends AsyncDisposable {
  readonly folder: string;
  readonly dataRoot: string;
  readonly workspace: string;
  readonly modelLog: string;
  readonly secrets: WorldSecrets;
  readonly model: StartedProcess;
  /** started and not waited for, so that a kill can fall into its boot */
  spawnHost(extras?: ProcessExtras): StartedProcess;
  awaitHost(host: StartedProcess): Promise<HostStart>;
  /** started and ready, or an error with its log */
  startHost(extras?: ProcessExtras): Promise<Extract<HostStart, { kind: "ready" }>>;
  startDaemon(extras?: ProcessExtras): Promise<StartedProcess>;
  /** what still carries the world's name, besides the model */
  leftProcesses(): readonly LeftProcess[];
}

/** the machine may be busy with other tests; a quiet one needs a second */
const startDeadlineMs = 60_000;

/** Worlds that aren't disposed yet: a process that is told to end takes them with it, as far as it can at that point. */
const openWorlds = new Map<string, readonly StartedProcess[]>();

process.on("exit", () => {
  for (const [folder, started] of openWorlds) {
    for (const child of started) child.kill("SIGKILL");
    for (const { pid } of findProcessesOf(folder)) killQuietly(pid);
    rmSync(folder, { recursive: true, force: true });
  }
});

export async function createWorld(options: WorldOptions): Promise<SandWorld> {
  const folder = await createTempFolder(options.label);
  const paths = makeFolders(folder.path);
  const secrets = { ...randomSecrets(), ...options.secrets };
  const scriptFile = join(folder.path, "model-script.json");
  writeFileSync(scriptFile, options.modelScript ?? JSON.stringify({ rules: [] }));
  const modelLog = join(folder.path, "model-calls.jsonl");
  const modelOutput = join(folder.path, "model.log");
  const model = startProcess({
    name: "model",
    args: [scriptedModelMain, "--script", scriptFile, "--log", modelLog],
    env: { PATH: process.env.PATH ?? "" },
    cwd: folder.path,
    logFile: modelOutput,
  });
  const started: StartedProcess[] = [model];
  openWorlds.set(folder.path, started);
  const baseUrl = await readModelUrl(model);
  const shared = {
    PATH: process.env.PATH ?? "",
    HOME: paths.home,
    SAND_DATA_ROOT: paths.dataRoot,
    SAND_BOX_WORKSPACE_ROOT: paths.workspace,
    SAND_SANDBOX: options.sandbox,
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: secrets.daemon,
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_PTY_PORT: "0",
  };
  const hostEnv = {
    ...shared,
    SAND_HOST_PORT: "0",
    SAND_GATEWAY_TOKEN: secrets.gateway,
    SAND_USE_EXISTING_BOX_EXEC_DAEMON: "1",
    SAND_INFERENCE_PROVIDER: "openai-compatible",
    SAND_INFERENCE_BASE_URL: baseUrl,
    SAND_INFERENCE_API_KEY: secrets.provider,
    SAND_INFERENCE_MODEL: "scripted",
  };
  const spawnOne = (name: string, file: string, env: Record<string, string>, extras?: ProcessExtras) => {
    const child = startProcess({
      name,
      args: [file, ...(extras?.args ?? [])],
      env: { ...env, ...extras?.env },
      cwd: paths.workspace,
      logFile: join(folder.path, `${name}.log`),
      ...(extras?.nodeArgs === undefined ? {} : { nodeArgs: extras.nodeArgs }),
    });
    started.push(child);
    extras?.onSpawn?.(child.pid);
    return child;
  };
  const world: SandWorld = {
    folder: folder.path,
    dataRoot: paths.dataRoot,
    workspace: paths.workspace,
    modelLog,
    secrets,
    model,
    spawnHost: (extras) => spawnOne("host", options.bundles.host, hostEnv, extras),
    awaitHost: (host) => awaitHost(host, paths.dataRoot),
    async startHost(extras) {
      const start = await world.awaitHost(world.spawnHost(extras));
      if (start.kind === "ready") return start;
      throw new Error(
        `the host ended at its start (${JSON.stringify(start.exit)}):\n${await start.process.output()}`,
      );
    },
    async startDaemon(extras) {
      const daemon = spawnOne("daemon", options.bundles.daemon, shared, extras);
      await awaitDaemon(daemon, paths.dataRoot);
      return daemon;
    },
    leftProcesses: () => findProcessesOf(folder.path).filter((left) => left.pid !== model.pid),
    async [Symbol.asyncDispose]() {
      for (const child of started.toReversed()) await child.end();
      await endLeftProcesses(folder.path);
      await folder.remove();
      openWorlds.delete(folder.path);
    },
  };
  return world;
}

function makeFolders(root: string) {
  const paths = {
    dataRoot: join(root, "data"),
    workspace: join(root, "workspace"),
    home: join(root, "home"),
  };
  for (const path of Object.values(paths)) mkdirSync(path, { mode: 0o700 });
  return paths;
}

function randomSecrets(): WorldSecrets {
  const make = (what: string) => `${what}-${randomBytes(18).toString("hex")}`;
  return { gateway: make("gateway"), daemon: make("daemon"), provider: make("provider") };
}

async function readModelUrl(model: StartedProcess): Promise<string> {
  return waitUntil(
    "the scripted model's port",
    async () => {
      const output = await model.output();
      if (model.exit() !== undefined) throw new Error(`the scripted model ended at its start:\n${output}`);
      return /"baseUrl":"([^"]+)"/u.exec(output)?.[1];
    },
    { deadlineMs: startDeadlineMs },
  );
}

/** Ready means: the discovery file is this process's own, and its health answers under the same pid. */
async function awaitHost(host: StartedProcess, dataRoot: string): Promise<HostStart> {
  const access = await waitUntil(
    "the host to be ready",
    async () => {
      if (host.exit() !== undefined) return "died" as const;
      const found = readDiscovery(join(dataRoot, "gateway.json"), host.pid);
      if (found === undefined) return undefined;
      return (await isHealthy(found)) ? found : undefined;
    },
    { deadlineMs: startDeadlineMs },
  );
  if (access !== "died") return { kind: "ready", process: host, access };
  return { kind: "died", process: host, exit: await host.exited };
}

function readDiscovery(path: string, pid: number): GatewayAccess | undefined {
  const found = readJson(path);
  if (found === undefined || found.pid !== pid) return undefined;
  return { url: `http://127.0.0.1:${String(found.port)}`, token: String(found.token) };
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Not written yet: the caller looks again until its deadline.
    return undefined;
  }
}

async function isHealthy(access: GatewayAccess): Promise<boolean> {
  const reply = await callGateway(access, "getHostStatus", {});
  return reply.kind === "answered" && reply.status === 200;
}

async function awaitDaemon(daemon: StartedProcess, dataRoot: string): Promise<void> {
  await waitUntil(
    "the daemon to be ready",
    async () => {
      if (daemon.exit() !== undefined)
        throw new Error(`the daemon ended at its start:\n${await daemon.output()}`);
      return readJson(join(dataRoot, "exec-daemon.json"))?.pid === daemon.pid;
    },
    { deadlineMs: startDeadlineMs },
  );
}

/** Keepers and commands outlive the daemon by design; here they end with the world. */
async function endLeftProcesses(folder: string): Promise<void> {
  await waitUntil(
    "the world's processes to end",
    () => {
      const left = findProcessesOf(folder);
      for (const { pid } of left) killQuietly(pid);
      return left.length === 0;
    },
    { deadlineMs: startDeadlineMs, everyMs: 50 },
  );
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself in between.
  }
}
