/**
 * From the spawn to the first `/health`: a bare Node server, a host without agents, one with 1,000 that was closed in
 * order, and one with 1,000 of which 5 were at work when it was killed. The processor time that the host has used by
 * then is shown beside it, since the rest of the machine has less part in it.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { call, createAgent, isHealthy, readCpuMs, startHost } from "./measure/host-process.mjs";
import { startNode } from "./measure/run-process.mjs";
import { line } from "./measure/statistics.mjs";

const agents = 1_000;
const activeAgents = 5;

async function startBare() {
  const startedMs = performance.now();
  await using bare = startNode(join(import.meta.dirname, "baseline/health-server.mjs"));
  await isHealthy(`http://127.0.0.1:${(await bare.next()).port}`);
  return { readyMs: performance.now() - startedMs, cpuMs: readCpuMs(bare.pid) };
}

async function startOnce(folder) {
  await using host = await startHost({ folder });
  return { readyMs: host.readyMs, cpuMs: readCpuMs(host.pid) };
}

async function makeAgents(folder) {
  const ids = [];
  await using host = await startHost({ folder });
  for (let made = 0; made < agents; made += 20) {
    const group = Array.from({ length: 20 }, (_, at) => createAgent(host, `agent-${made + at}`));
    ids.push(...(await Promise.all(group)));
  }
  return ids;
}

/** Leaves a data root in which some agents were in use when the host was killed: their stores have logs. */
async function killAtWork(folder, ids, mark) {
  await using host = await startHost({ folder });
  for (const agentId of ids.slice(0, activeAgents))
    await call(host, "sendPrompt", { agentId, prompt: "work", clientNonce: `work-${agentId}-${mark}` });
  process.kill(host.pid, "SIGKILL");
}

export async function benchStart({ rounds, report }) {
  await using none = await createTempFolder("bench-start-none");
  await using many = await createTempFolder("bench-start-many");
  await startOnce(none.path);
  const ids = await makeAgents(many.path);
  const seen = { bare: [], none: [], many: [], active: [] };
  for (let round = 0; round < rounds; round += 1) {
    seen.bare.push(await startBare());
    seen.none.push(await startOnce(none.path));
    seen.many.push(await startOnce(many.path));
    await killAtWork(many.path, ids, round);
    seen.active.push(await startOnce(many.path));
    const show = ({ readyMs, cpuMs }) => `${Math.round(readyMs)} (${Math.round(cpuMs)})`;
    const shown = Object.values(seen).map((starts) => show(starts[round]));
    report(`round ${round + 1}: ${shown.join(", ")} ms, processor time in brackets`);
  }
  return linesOf(seen);
}

function linesOf(seen) {
  const ratio = (one, other, what) => seen[one].map((start, at) => start[what] / seen[other][at][what]);
  const within = (bound) => ({ bound: `≤ ${bound}×`, met: (value) => value <= bound });
  const ms = (which, what) => [seen[which].map((start) => start[what]), { unit: "ms" }];
  return [
    line("start to /health beside a bare Node server", ratio("none", "bare", "readyMs"), within(3)),
    line("start with 1,000 agents beside none", ratio("many", "none", "readyMs"), within(1.1)),
    line("the same, 5 of them at work when it was killed", ratio("active", "none", "readyMs"), within(1.1)),
    line("the same in processor time: 1,000 agents", ratio("many", "none", "cpuMs"), {}),
    line("the same in processor time: 5 of them at work", ratio("active", "none", "cpuMs"), {}),
    line("bare Node server", ...ms("bare", "readyMs")),
    line("host without agents", ...ms("none", "readyMs")),
    line("host with 1,000 agents", ...ms("many", "readyMs")),
    line("processor time without agents", ...ms("none", "cpuMs")),
    line("processor time with 1,000 agents", ...ms("many", "cpuMs")),
  ];
}
