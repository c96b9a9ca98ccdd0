/**
 * A shipped host as a process in a folder of its own, without a daemon unless one is asked for. Ready means that its
 * `/health` answered; how long that took from the moment of the spawn is kept.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findBundles } from "../../packages/testkit/src/proofs/door.ts";
import { searchPath } from "./run-process.mjs";

export const gatewayToken = "bench-gateway-token";
const startDeadlineMs = 120_000;
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

function environment(folder, port, extra) {
  return {
    PATH: searchPath,
    HOME: folder,
    SAND_DATA_ROOT: join(folder, "data"),
    SAND_BOX_WORKSPACE_ROOT: join(folder, "workspace"),
    SAND_SANDBOX: "off",
    SAND_USE_EXISTING_BOX_EXEC_DAEMON: "1",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "bench-daemon-token",
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_PTY_PORT: "0",
    SAND_HOST_PORT: String(port),
    SAND_GATEWAY_TOKEN: gatewayToken,
    SAND_INFERENCE_PROVIDER: "offline",
    ...extra,
  };
}

export function modelEnv(baseUrl) {
  return {
    SAND_INFERENCE_PROVIDER: "openai-compatible",
    SAND_INFERENCE_BASE_URL: baseUrl,
    SAND_INFERENCE_API_KEY: "bench-provider-key",
    SAND_INFERENCE_MODEL: "scripted",
  };
}

/** Any program of the box; `prefix` is what runs it instead of Node alone. */
function launch(file, { folder, env, prefix }) {
  for (const name of ["data", "workspace"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const log = openSync(join(folder, "processes.log"), "a", 0o600);
  const command = [...prefix, process.execPath, file];
  const child = spawn(command[0], command.slice(1), { cwd: folder, env, stdio: ["ignore", log, log] });
  closeSync(log);
  running.add(child);
  const ended = new Promise((resolve) => child.once("close", resolve)).then(() => running.delete(child));
  return {
    child,
    ended,
    /** In order, so that everything is on disk; by force when that takes too long. `pid`: the program's own. */
    async stop(pid = child.pid) {
      // What runs the program (a tracer) would end alone and leave it behind.
      if (child.exitCode === null && child.signalCode === null) process.kill(pid, "SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), 15_000);
      await ended;
      clearTimeout(force);
    },
  };
}

function readDiscovery(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Not there yet, or half written.
    return undefined;
  }
}

async function poll(what, look, program) {
  const endMs = performance.now() + startDeadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (program.child.exitCode !== null) throw new Error(`${what} ended at its start`);
    if (performance.now() > endMs) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export async function isHealthy(url) {
  const reply = await fetch(`${url}/health`).catch(() => undefined);
  if (reply === undefined) return undefined;
  await reply.arrayBuffer();
  return reply.ok ? true : undefined;
}

export async function startHost({ folder, env = {}, prefix = [], file = findBundles("shipped").host }) {
  const discovery = join(folder, "data", "gateway.json");
  rmSync(discovery, { force: true });
  const startedMs = performance.now();
  const program = launch(file, { folder, env: environment(folder, 0, env), prefix });
  const found = await poll("the host", () => readDiscovery(discovery), program);
  const url = `http://127.0.0.1:${found.port}`;
  await poll("the host's health", () => isHealthy(url), program);
  const readyMs = performance.now() - startedMs;
  const stop = () => program.stop(found.pid);
  return { url, pid: found.pid, readyMs, stop, [Symbol.asyncDispose]: stop };
}

export async function startDaemon({ folder, env = {}, prefix = [], file = findBundles("shipped").daemon }) {
  const discovery = join(folder, "data", "exec-daemon.json");
  const program = launch(file, { folder, env: environment(folder, 0, env), prefix });
  await poll("the daemon", () => readDiscovery(discovery), program);
  return { pid: program.child.pid, stop: program.stop, [Symbol.asyncDispose]: program.stop };
}

export async function call(host, command, body) {
  const reply = await fetch(`${host.url}/api/${command}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const value = await reply.json();
  if (!reply.ok) throw new Error(`${command}: ${reply.status} ${JSON.stringify(value)}`);
  return value;
}

export async function createAgent(host, name) {
  const made = await call(host, "createAgent", { name, description: "", clientNonce: `create-${name}` });
  return made.agent.id;
}

/** time on a processor since the start, all threads, in `ms` */
export function readCpuMs(pid) {
  // The process's own utime and stime would come in steps of 10 ms.
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]),
  );
  return ns.reduce((sum, one) => sum + one, 0) / 1e6;
}

export function readResidentMb(pid) {
  const line = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}
