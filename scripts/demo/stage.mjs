/**
 * Where the demo plays: a data root and a workspace of its own, an environment without any provider's key, and the
 * bundles as processes. Whatever happens, `clear` leaves no process and no file behind.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const commandMaxMs = 40_000;
const passedOn = /^(?:PATH|LANG|LC_ALL|TZ|USER|LOGNAME)$/;

export function setStage(program) {
  const folder = mkdtempSync(join(tmpdir(), "sand-demo-"));
  const [home, dataRoot, workspace] = ["home", "data", "workspace"].map((name) => join(folder, name));
  for (const path of [home, dataRoot, workspace]) mkdirSync(path, { mode: 0o700 });
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name))),
    HOME: home,
    SAND_DATA_ROOT: dataRoot,
    SAND_BOX_WORKSPACE_ROOT: workspace,
    SAND_INFERENCE_PROVIDER: "offline",
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_PTY_PORT: "0",
    // Fenced in where this machine allows it; `sand up` by itself insists.
    SAND_SANDBOX: "auto",
  };
  const sand = (...words) => run(process.execPath, [program, ...words], env);

  return {
    folder,
    workspace,
    sand,
    async up() {
      const answer = await sand("up", "--local", "--port", "0", "--json");
      if (answer.code !== 0) throw new Error(`sand up failed: ${answer.stderr || answer.stdout}`);
      const { token } = JSON.parse(readFileSync(join(dataRoot, "gateway.json"), "utf8"));
      return { ...JSON.parse(answer.stdout), token };
    },
    hostLog() {
      const path = join(dataRoot, "logs", "host.log");
      return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(-12).join("\n") : "";
    },
    /** the demo's own processes that still live: each was started with this folder in its environment or arguments */
    survivors: () => processesOf(folder),
    async clear() {
      await sand("down", "--force");
      for (const pid of processesOf(folder)) kill(pid);
      await waitUntil(() => processesOf(folder).length === 0, 5_000);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function run(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], timeout: commandMaxMs });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"])
      child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...said }));
  });
}

function processesOf(folder) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => `${read(`/proc/${pid}/environ`)}${read(`/proc/${pid}/cmdline`)}`.includes(folder));
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Gone meanwhile, or another user's: not ours.
    return "";
  }
}

export function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

export async function waitUntil(condition, limitMs) {
  const end = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}
