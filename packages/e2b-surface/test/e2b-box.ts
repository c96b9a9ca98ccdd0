/** The real daemon with its E2B surface, as a process of its own, and the unmodified SDK that speaks to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ExecDiscovery, parseExecDiscovery } from "@sand/protocol/exec";
import { Sandbox } from "e2b";

/** a machine that has much else to do is no failure */
export const slowMs = 120_000;
export const token = "planted-e2b-token";
const entry = join(import.meta.dirname, "../../exec-daemon/src/main.ts");

export interface E2bBox {
  readonly folder: string;
  /** what the SDK takes for the home */
  readonly home: string;
  readonly url: string;
  readonly rpcUrl: string;
  readonly version: string;
  readonly sandbox: Sandbox;
  readonly child: ChildProcess;
  /** another client of the same box */
  connect(options?: { readonly token?: string; readonly version?: string }): Sandbox;
  /** the surface over plain HTTP, with the token unless headers say otherwise */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** open descriptors of the daemon */
  descriptors(): number;
  log(): string;
  kill(): Promise<void>;
  /** another daemon on the same folders */
  again(): Promise<E2bBox>;
  dispose(): Promise<void>;
}

export async function startE2bBox(env: Record<string, string> = {}): Promise<E2bBox> {
  const folder = mkdtempSync(join(tmpdir(), "sand-e2b-"));
  mkdirSync(join(folder, "workspace"));
  mkdirSync(join(folder, "home"));
  try {
    return await startIn(folder, env);
  } catch (error) {
    await endCommands(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

async function startIn(folder: string, env: Record<string, string>): Promise<E2bBox> {
  const [dataRoot, home] = [join(folder, "data"), join(folder, "home")];
  const child = spawn(process.execPath, [entry], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      SAND_DATA_ROOT: dataRoot,
      SAND_BOX_WORKSPACE_ROOT: join(folder, "workspace"),
      SAND_BOX_EXEC_DAEMON_PORT: "0",
      SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token,
      SAND_E2B_COMPAT: "1",
      SAND_E2B_PORT: "0",
      SAND_SANDBOX: "off",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const found = await until(`the daemon answers; it said: ${log}`, () =>
    readDiscovery(dataRoot, child, () => log),
  );
  const [url, version] = [`http://127.0.0.1:${found.e2b?.port}`, found.e2b?.version ?? ""];
  const connect: E2bBox["connect"] = (options = {}) =>
    new Sandbox({
      ...{ sandboxId: "sand", sandboxDomain: "localhost", sandboxUrl: url, retries: 0 },
      envdVersion: options.version ?? version,
      envdAccessToken: options.token ?? token,
    });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    ...{ folder, home, url, version, child, connect, kill },
    rpcUrl: `http://127.0.0.1:${found.rpcPort}`,
    sandbox: connect(),
    fetch: (path, init = {}) =>
      fetch(url + path, { ...init, headers: { "x-access-token": token, ...init.headers } }),
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    log: () => log,
    again: () => startIn(folder, env),
    async dispose() {
      await kill();
      await endCommands(folder);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function readDiscovery(dataRoot: string, child: ChildProcess, log: () => string): ExecDiscovery | undefined {
  if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}: ${log()}`);
  const path = join(dataRoot, "exec-daemon.json");
  if (!existsSync(path)) return undefined;
  const discovery = parseExecDiscovery(readFileSync(path, "utf8"));
  return discovery?.pid === child.pid ? discovery : undefined;
}

/** Whatever keeps an execution or runs in the box has the folder in its environment or as its own folder. */
async function endCommands(folder: string): Promise<void> {
  const members = (): readonly number[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/u.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid && belongs(pid, folder));
  await until("nothing of the box runs any more", () => {
    const left = members();
    for (const pid of left) signal(pid);
    return left.length === 0 ? true : undefined;
  });
}

function belongs(pid: number, folder: string): boolean {
  try {
    const text =
      readFileSync(`/proc/${pid}/environ`, "latin1") + readFileSync(`/proc/${pid}/cmdline`, "latin1");
    return text.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
  } catch {
    // It has just ended.
    return false;
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended.
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
