/**
 * How late the host's event loop runs what is due while 64 connections post prompts: as the disk is, and with each sync
 * made 20 ms longer. Beside it the same load on a bare server, and the same slow sync in a loop of its own.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, gatewayToken, modelEnv, startHost } from "./measure/host-process.mjs";
import { createLoopWatch, watchedEnv } from "./measure/loop-watch.mjs";
import { runNode, searchPath, startNode } from "./measure/run-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";

const loadFile = join(import.meta.dirname, "load/post-load.mjs");
const connections = 64;
const seconds = 2;
const syncDelayMs = 20;
/** each has a store of its own, and so a sync of its own */
const agentsBeside = 8;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

/** runs a program whose syncs return that much later */
function slowSyncs(trace) {
  const inject = `inject=fsync,fdatasync:delay_exit=${syncDelayMs * 1000}`;
  const quiet = ["-e", "signal=none", "-o", trace];
  return ["strace", "-f", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-e", inject, ...quiet];
}

function load(url, agents, mark) {
  const prompt = { agentId: "{agent}", prompt: "script:hold", clientNonce: "bench-{n}", whenBusy: "queue" };
  const target = {
    url: `${url}/api/sendPrompt`,
    headers,
    body: JSON.stringify(prompt),
    probePath: "/health",
  };
  return runNode(loadFile, [], { input: JSON.stringify({ ...target, agents, connections, seconds, mark }) });
}

async function measure({ url, watch, agents, mark }) {
  const { result, delay } = await watch.during(() => load(url, agents, mark));
  if (result.refused > 0) throw new Error(`${result.refused} prompts were refused`);
  return { delay, perSecond: result.perSecond, probe: result.probe };
}

async function startWatchedHost({ folder, name, env, prefix }) {
  const file = join(folder, `loop-${name}.json`);
  const host = await startHost({ folder, env: { ...env, ...watchedEnv(file) }, prefix });
  return { host, watch: createLoopWatch(host.pid, file) };
}

/** one host after the other, so that no other one's syncs are in the way */
async function measureHost(round, { folder, env, name, prefix, many }) {
  const { host, watch } = await startWatchedHost({ folder, name, env, prefix });
  await using running = host;
  const agents = [];
  for (let at = 0; at < many; at += 1) agents.push(await createAgent(running, `${name}-${round}-${at}`));
  return await measure({ url: running.url, watch, agents, mark: `${name}-${round}` });
}

export async function benchLoopDelay({ rounds, report }) {
  await using temp = await createTempFolder("bench-loop-delay");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  const bareFile = join(temp.path, "loop-bare.json");
  await using bare = startNode(join(import.meta.dirname, "baseline/post-server.mjs"), [], {
    env: { PATH: searchPath, HOME: temp.path, ...watchedEnv(bareFile) },
  });
  const url = `http://127.0.0.1:${(await bare.next()).port}`;
  const watch = createLoopWatch(bare.pid, bareFile);
  const common = { folder: temp.path, env: modelEnv(model.baseUrl) };
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    const prefix = slowSyncs(join(temp.path, "slow.txt"));
    const one = {
      bare: await measure({ url, watch, agents: ["bare"], mark: `bare-${round}` }),
      host: await measureHost(round, { ...common, name: "host", prefix: [], many: 1 }),
      slow: await measureHost(round, { ...common, name: "slow", prefix, many: 1 }),
      spread: await measureHost(round, { ...common, name: "spread", prefix, many: agentsBeside }),
    };
    seen.push(one);
    const at = (name) => `${name} ${one[name].delay.p99Ms.toFixed(1)} ms`;
    report(`round ${round + 1}, p99 of the loop's delay: ${Object.keys(one).map(at).join(", ")}`);
  }
  return linesOf(seen);
}

function linesOf(seen) {
  const named = {
    bare: "a bare POST server",
    host: "the host",
    slow: `the host, each sync ${syncDelayMs} ms longer`,
    spread: `the same over ${agentsBeside} agents`,
  };
  return Object.entries(named).flatMap(([key, name]) => {
    const each = (pick) => seen.map((one) => pick(one[key]));
    return [
      line(
        `delay of the event loop, p99, ${name}`,
        each(({ delay }) => delay.p99Ms),
        { unit: "ms" },
      ),
      line(
        `the same, p50`,
        each(({ delay }) => delay.p50Ms),
        { unit: "ms" },
      ),
      line(
        `/health from outside, p99, ${name}`,
        each(({ probe }) => probe.p99Ms),
        { unit: "ms" },
      ),
      line(
        `answers a second, ${name}`,
        each(({ perSecond }) => perSecond),
        { unit: "/s" },
      ),
    ];
  });
}
