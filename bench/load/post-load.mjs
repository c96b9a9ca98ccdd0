/**
 * Posts over a fixed number of connections, each as soon as its last answer is there, and prints what came of it.
 *
 * `{n}` in the body becomes a number that no other post of this run has, and `{agent}` one of `agents` in turn. Beside the load, one more connection asks for
 * `probePath` in turn: how long that takes is what the server's event loop makes others wait.
 */

import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";

const plan = JSON.parse(readFileSync(0, "utf8"));
const target = new URL(plan.url);
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
const probeAgent = new Agent({ keepAlive: true, maxSockets: 1 });
const agents = plan.agents ?? [];
const latenciesMs = [];
const probesMs = [];
let refused = 0;
let sent = 0;

function ask(options, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: target.hostname, port: target.port, ...options }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode));
      response.once("error", reject);
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

function isOver() {
  return plan.posts === undefined ? performance.now() >= endMs : sent >= plan.posts;
}

async function post() {
  sent += 1;
  const agentId = agents[sent % agents.length] ?? "";
  const body = plan.body.replaceAll("{n}", `${plan.mark}-${sent}`).replaceAll("{agent}", agentId);
  const headers = { ...plan.headers, "content-length": Buffer.byteLength(body) };
  const startedMs = performance.now();
  const status = await ask({ method: "POST", path: target.pathname, agent, headers }, body);
  latenciesMs.push(performance.now() - startedMs);
  if (status !== 200) refused += 1;
}

async function probe() {
  const startedMs = performance.now();
  await ask({ method: "GET", path: plan.probePath, agent: probeAgent, headers: {} });
  probesMs.push(performance.now() - startedMs);
  await new Promise((resolve) => setTimeout(resolve, 5));
}

async function repeat(work) {
  while (!isOver()) await work();
}

function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1) ?? 0 };
}

const startedMs = performance.now();
const endMs = startedMs + plan.seconds * 1000;
const workers = Array.from({ length: plan.connections }, () => repeat(post));
if (plan.probePath !== undefined) workers.push(repeat(probe));
await Promise.all(workers);
const tookMs = performance.now() - startedMs;
agent.destroy();
probeAgent.destroy();
process.stdout.write(
  `${JSON.stringify({
    count: latenciesMs.length,
    refused,
    perSecond: (latenciesMs.length * 1000) / tookMs,
    tookMs,
    latency: summary(latenciesMs),
    probe: summary(probesMs),
  })}\n`,
);
