/** The peer of the comparison: installed from its registry into a folder of its own, and served from there. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePort } from "../../packages/testkit/src/index.ts";
import { searchPath } from "./run-process.mjs";

export const peerVersion = "1.18.33";
const startDeadlineMs = 120_000;
const turnDeadlineMs = 120_000;
/** What the peer would fetch at its start or with its first prompt: none of it belongs to the comparison. */
const withoutDownloads = Object.fromEntries(
  ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"].map((what) => [
    `OPENCODE_DISABLE_${what}`,
    "1",
  ]),
);
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Returns the program's file. `--ignore-scripts`: the package carries its program ready to run. */
export function installPeer(folder) {
  const args = ["install", "--prefix", folder, `opencode-ai@${peerVersion}`, "--ignore-scripts"];
  execFileSync("npm", [...args, "--no-audit", "--no-fund"], { stdio: "ignore", timeout: 300_000 });
  const program = join(folder, `node_modules/opencode-linux-${process.arch}/bin/opencode`);
  if (!existsSync(program)) throw new Error(`${program} was not installed`);
  return program;
}

function writeSettings(folder, modelUrl) {
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "scripted",
    options: { baseURL: modelUrl, apiKey: "bench-provider-key" },
    models: { scripted: { name: "scripted", limit: { context: 200_000, output: 8_000 } } },
  };
  const settings = {
    autoupdate: false,
    share: "disabled",
    model: "scripted/scripted",
    small_model: "scripted/scripted",
    permission: { bash: "allow" },
    provider: { scripted: provider },
  };
  writeFileSync(join(folder, "opencode.json"), JSON.stringify(settings));
}

async function isUp(url) {
  try {
    // A request that meets the peer in the middle of its start may never be answered.
    const reply = await fetch(`${url}/global/health`, { signal: AbortSignal.timeout(500) });
    await reply.arrayBuffer();
    return reply.ok;
  } catch {
    return false;
  }
}

export async function startPeer({ program, folder, modelUrl }) {
  for (const name of ["workspace", "home"]) mkdirSync(join(folder, name), { recursive: true });
  const workspace = join(folder, "workspace");
  writeSettings(workspace, modelUrl);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const log = openSync(join(folder, "peer.log"), "a", 0o600);
  const env = { PATH: searchPath, HOME: join(folder, "home"), ...withoutDownloads };
  const startedMs = performance.now();
  const child = spawn(program, ["serve", "--pure", "--port", String(port)], {
    cwd: workspace,
    env,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  running.add(child);
  const ended = new Promise((resolve) => child.once("close", resolve)).then(() => running.delete(child));
  while (!(await isUp(url))) {
    if (child.exitCode !== null || performance.now() - startedMs > startDeadlineMs)
      throw new Error("the peer is not up");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return {
    pid: child.pid,
    readyMs: performance.now() - startedMs,
    async prompt(text) {
      const session = await post(`${url}/session`, {});
      await post(`${url}/session/${session.id}/message`, { parts: [{ type: "text", text }] });
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function post(url, body) {
  const reply = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(turnDeadlineMs),
  });
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  return await reply.json();
}
