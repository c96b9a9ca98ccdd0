/**
 * What a snapshot adds to accepting prompts: 64 connections over four agents, with one snapshot after another taken of
 * them meanwhile, beside the same without. The two come by turns, in the order of every second round turned round, so
 * that a machine that gets busier favours neither.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, gatewayToken, modelEnv, startHost } from "./measure/host-process.mjs";
import { runNode } from "./measure/run-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";

const loadFile = join(import.meta.dirname, "load/post-load.mjs");
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };
const agentCount = 4;
const seconds = 4;

function load(url, agents, mark) {
  const prompt = `script:hold ${"words that take their place in a store. ".repeat(10)}`;
  const body = JSON.stringify({ agentId: "{agent}", prompt, clientNonce: "bench-{n}", whenBusy: "queue" });
  const plan = { url: `${url}/api/sendPrompt`, headers, body, agents, connections: 64, seconds, mark };
  return runNode(loadFile, [], { input: JSON.stringify(plan) });
}

async function snapshotNow(url) {
  const answer = await fetch(`${url}/api/snapshotBoxStoreNow`, { method: "POST", headers, body: "{}" });
  const value = await answer.json();
  if (!answer.ok) throw new Error(`no snapshot: ${JSON.stringify(value)}`);
  return value;
}

/** One snapshot after another until the load is over. */
async function loadWithSnapshots(url, agents, mark) {
  let isOver = false;
  const taken = [];
  const snapshots = (async () => {
    while (!isOver) taken.push(await snapshotNow(url));
  })();
  const loaded = await load(url, agents, mark);
  isOver = true;
  await snapshots;
  return { ...loaded, taken };
}

export async function benchBoxStore({ rounds, report }) {
  await using temp = await createTempFolder("bench-box-store");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  const store = { SAND_BOX_STORE: join(temp.path, "store"), SAND_BOX_STORE_EVERY_MINUTES: "0" };
  await using host = await startHost({ folder: temp.path, env: { ...modelEnv(model.baseUrl), ...store } });
  const agents = [];
  for (let index = 0; index < agentCount; index += 1) agents.push(await createAgent(host, `agent-${index}`));
  await load(host.url, agents, "warm");
  await snapshotNow(host.url);
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    const runs = {
      without: () => load(host.url, agents, `without-${round}`),
      during: () => loadWithSnapshots(host.url, agents, `with-${round}`),
    };
    const order = round % 2 === 0 ? ["without", "during"] : ["during", "without"];
    const result = {};
    for (const name of order) result[name] = await runs[name]();
    const { without, during } = result;
    const bytes = during.taken.reduce((sum, { uploadedBytes }) => sum + uploadedBytes, 0);
    report(
      `p99 ${without.latency.p99Ms.toFixed(1)} ms, ${Math.round(without.perSecond)}/s; during ${during.taken.length} snapshots of ${Math.round(during.taken.at(-1).totalBytes / 1e6)} MB (${Math.round(bytes / 1e6)} MB new) ${during.latency.p99Ms.toFixed(1)} ms, ${Math.round(during.perSecond)}/s`,
    );
    seen.push(result);
  }
  const refused = seen.reduce((sum, { without, during }) => sum + without.refused + during.refused, 0);
  if (refused > 0) throw new Error(`${refused} prompts were refused`);
  const ratio = (pick) => seen.map(({ without, during }) => pick(during) / pick(without));
  return [
    line(
      "accept p99 during snapshots",
      ratio(({ latency }) => latency.p99Ms),
      {
        unit: "×",
        bound: "≤ 1.1× of without",
        met: (value) => value <= 1.1,
      },
    ),
    line(
      "accept p50 during snapshots",
      ratio(({ latency }) => latency.p50Ms),
      { unit: "×", bound: "none" },
    ),
    line(
      "accepts a second during snapshots",
      ratio(({ perSecond }) => perSecond),
      { unit: "×", bound: "none" },
    ),
    line(
      "snapshots in a window of 4 s",
      seen.map(({ during }) => during.taken.length),
      { bound: "none" },
    ),
  ];
}
