/** The real daemon as a process of its own, in a temporary folder, and clients of its services. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Control, type Event, Files, Processes, parseExecDiscovery } from "@sand/protocol/exec";
import { findCgroupPlace } from "../src/keeper/cgroup-place.ts";

export const token = "planted-daemon-token";
const entry = join(import.meta.dirname, "../src/main.ts");

export interface TestDaemon {
  readonly folder: string;
  readonly workspace: string;
  readonly dataRoot: string;
  readonly child: ChildProcess;
  readonly baseUrl: string;
  readonly processes: Client<typeof Processes>;
  readonly files: Client<typeof Files>;
  readonly control: Client<typeof Control>;
  /** what it has logged so far */
  log(): string;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts another daemon on the same folders. */
  again(env?: Record<string, string>): Promise<TestDaemon>;
  /** Ends daemon, keepers and commands, and removes the folder. */
  dispose(): Promise<void>;
}

/** `prefix`: a program and its arguments that become the daemon. */
export async function startTestDaemon(
  env: Record<string, string> = {},
  prefix: readonly string[] = [],
): Promise<TestDaemon> {
  const folder = mkdtempSync(join(tmpdir(), "sand-daemon-"));
  mkdirSync(join(folder, "workspace"));
  return await startIn(folder, env, prefix);
}

async function startIn(
  folder: string,
  env: Record<string, string>,
  prefix: readonly string[],
): Promise<TestDaemon> {
  const [dataRoot, workspace] = [join(folder, "data"), join(folder, "workspace")];
  const [program = process.execPath, ...args] = [...prefix, process.execPath, entry];
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      SAND_DATA_ROOT: dataRoot,
      SAND_BOX_WORKSPACE_ROOT: workspace,
      SAND_BOX_EXEC_DAEMON_PORT: "0",
      SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token,
      SAND_SANDBOX: "off",
      ...(process.env.SAND_KEEPER === undefined ? {} : { SAND_KEEPER: process.env.SAND_KEEPER }),
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const port = await until(`the daemon answers; it said: ${log}`, () => readPort(dataRoot, child));
  const baseUrl = `http://127.0.0.1:${port}`;
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    ...{ folder, workspace, dataRoot, child, baseUrl, kill },
    log: () => log,
    processes: createClient(Processes, transport),
    files: createClient(Files, transport),
    control: createClient(Control, transport),
    again: (more) => startIn(folder, { ...env, ...more }, prefix),
    async dispose() {
      await kill();
      await endKeepers(dataRoot);
      rmSync(folder, { recursive: true, force: true });
      await removeCgroups(dataRoot);
    },
  };
}

function readPort(dataRoot: string, child: ChildProcess): number | undefined {
  if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`);
  const path = join(dataRoot, "exec-daemon.json");
  if (!existsSync(path)) return undefined;
  const discovery = parseExecDiscovery(readFileSync(path, "utf8"));
  return discovery?.pid === child.pid ? discovery?.rpcPort : undefined;
}

/** Each keeper ends its command's group when it is told to end. */
async function endKeepers(dataRoot: string): Promise<void> {
  const root = join(dataRoot, "executions");
  const claims = existsSync(root) ? readdirSync(root).map((name) => join(root, name, "claim.json")) : [];
  for (const claim of claims.filter((path) => existsSync(path))) {
    const { pid } = JSON.parse(readFileSync(claim, "utf8"));
    if (!isKeeper(pid)) continue;
    process.kill(pid, "SIGTERM");
    await until("a keeper has ended", () => (isKeeper(pid) ? undefined : true));
  }
}

/** What was killed together with its keeper may still be dying in its control group. */
async function removeCgroups(dataRoot: string): Promise<void> {
  const place = findCgroupPlace(dataRoot);
  if (place === undefined) return;
  await until("the control groups are gone", () => place.sweep() || undefined);
}

function isKeeper(pid: number): boolean {
  try {
    return /main\.ts\0keeper|sand-shim/u.test(readFileSync(`/proc/${pid}/cmdline`, "latin1"));
  } catch {
    return false;
  }
}

export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  maxMs = 60_000,
): Promise<T> {
  const endMs = Date.now() + maxMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > endMs) throw new Error(`not in time: ${what}`);
    await delay(20);
  }
}

export interface Gathered {
  readonly events: readonly Event[];
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Attaches from the beginning until `closed`. */
export async function gather(daemon: TestDaemon, processId: string): Promise<Gathered> {
  const events: Event[] = [];
  for await (const { event } of daemon.processes.attach({ processId }))
    if (event !== undefined) events.push(event);
  return { events, stdout: joinOutput(events, 1), stderr: joinOutput(events, 2) };
}

export function joinOutput(events: readonly Event[], stream: number): Buffer {
  return Buffer.concat(
    events.flatMap(({ kind }) =>
      kind.case === "output" && kind.value.stream === stream ? [kind.value.data] : [],
    ),
  );
}

export function kindsOf(events: readonly Event[]): readonly string[] {
  return events.map((event) => event.kind.case ?? "").filter((kind) => kind !== "keepalive");
}

export function shell(processId: string, text: string) {
  return { processId, command: { case: "shell", value: text } as const };
}
