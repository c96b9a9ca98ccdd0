/**
 * Group commit: accepted prompts a second over 1 to 256 connections to one agent, beside what the same disk gives for a
 * page's fdatasync, one after the other. One commit at a time can't be faster than that; a shared one must be.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, gatewayToken, modelEnv, startHost } from "./measure/host-process.mjs";
import { runNode } from "./measure/run-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";

const loadFile = join(import.meta.dirname, "load/post-load.mjs");
const syncFile = join(import.meta.dirname, "baseline/sync-loop.mjs");
const steps = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const seconds = 1;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

async function accept(url, agentId, mark, connections) {
  const prompt = { agentId, prompt: "script:hold", clientNonce: "bench-{n}", whenBusy: "queue" };
  const target = { url: `${url}/api/sendPrompt`, headers, body: JSON.stringify(prompt) };
  const done = await runNode(loadFile, [], {
    input: JSON.stringify({ ...target, connections, seconds, mark }),
  });
  if (done.refused > 0) throw new Error(`${done.refused} prompts were refused`);
  return done;
}

/** The disk is asked right before each step, so that both meet the same minute. */
async function oneRound(round, { folder, host }) {
  const curve = new Map();
  for (const connections of steps) {
    const agentId = await createAgent(host, `round-${round}-${connections}`);
    const sync = await runNode(syncFile, [folder, "0.5"]);
    const done = await accept(host.url, agentId, `curve-${round}-${connections}`, connections);
    const syncsPerSecond = sync.count / 0.5;
    curve.set(connections, { perSecond: done.perSecond, syncsPerSecond, p50Ms: done.latency.p50Ms });
  }
  return curve;
}

export async function benchGroupCommit({ rounds, report }) {
  await using temp = await createTempFolder("bench-group-commit");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  await using host = await startHost({ folder: temp.path, env: modelEnv(model.baseUrl) });
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    const curve = await oneRound(round, { folder: temp.path, host });
    seen.push(curve);
    report(
      `round ${round + 1}: ${[...curve].map(([of, { perSecond }]) => `${of}: ${Math.round(perSecond)}/s`).join(", ")}`,
    );
  }
  return steps.flatMap((connections) => linesOf(connections, seen));
}

function linesOf(connections, seen) {
  const each = (pick) => seen.map((curve) => pick(curve.get(connections)));
  const who = connections === 1 ? "1 connection" : `${connections} connections`;
  return [
    line(
      `accepts, ${who}, for each raw fdatasync`,
      each(({ perSecond, syncsPerSecond }) => perSecond / syncsPerSecond),
      { unit: "×" },
    ),
    line(
      `accepts, ${who}`,
      each(({ perSecond }) => perSecond),
      { unit: "/s" },
    ),
    line(
      `one answer, p50, ${who}`,
      each(({ p50Ms }) => p50Ms),
      { unit: "ms" },
    ),
  ];
}
