/**
 * Events to 1,000 streams: frames delivered each second, beside a bare broadcaster that writes frames of the same size.
 * The same posts make the events on both sides; the streams are read by a process of their own. Ours also stores each
 * event before it sends it; that is part of the figure.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, gatewayToken, modelEnv, startHost } from "./measure/host-process.mjs";
import { runNode, startNode } from "./measure/run-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";

const streams = 1_000;
/** one after the other, and as many at once as a busy host has */
const loads = {
  "one post at a time": { connections: 1, posts: 60 },
  "16 at once": { connections: 16, posts: 300 },
};
const promptChars = 400;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

async function deliver({ eventsUrl, postUrl, body, mark, load }) {
  const { connections, posts } = load;
  const wanted = { url: eventsUrl, headers, streams, frames: posts };
  await using reader = startNode(join(import.meta.dirname, "load/read-streams.mjs"), [], {
    input: JSON.stringify(wanted),
  });
  await reader.next();
  const plan = { url: postUrl, headers, body, connections, posts, seconds: 0, mark };
  const posting = runNode(join(import.meta.dirname, "load/post-load.mjs"), [], {
    input: JSON.stringify(plan),
  });
  const [{ tookMs, bytes }] = await Promise.all([reader.next(), posting]);
  return { perSecond: (streams * posts * 1000) / tookMs, frameBytes: bytes / streams / posts };
}

async function compareOnce({ host, bareUrl, name, load }) {
  const agentId = await createAgent(host, name);
  const prompt = `script:hold ${"x".repeat(promptChars)}`;
  const body = JSON.stringify({ agentId, prompt, clientNonce: "bench-{n}", whenBusy: "queue" });
  const eventsUrl = `${host.url}/events?channels=transcript`;
  const ours = await deliver({ eventsUrl, postUrl: `${host.url}/api/sendPrompt`, body, mark: name, load });
  // The bare frame is padded to the size of ours: what differs is then the work, not the bytes.
  const padded = "x".repeat(Math.max(1, Math.round(ours.frameBytes) - "data: \n\n".length));
  const bare = await deliver({ eventsUrl: bareUrl, postUrl: bareUrl, body: padded, mark: name, load });
  return { ours: ours.perSecond, bare: bare.perSecond };
}

export async function benchFanOut({ rounds, report }) {
  await using temp = await createTempFolder("bench-fan-out");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  await using host = await startHost({ folder: temp.path, env: modelEnv(model.baseUrl) });
  await using bare = startNode(join(import.meta.dirname, "baseline/event-broadcaster.mjs"));
  const bareUrl = `http://127.0.0.1:${(await bare.next()).port}/`;
  const seen = Object.fromEntries(Object.keys(loads).map((what) => [what, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, [what, load]] of Object.entries(loads).entries()) {
      const one = await compareOnce({ host, bareUrl, name: `round-${round}-${at}`, load });
      seen[what].push(one);
      report(`round ${round + 1}, ${what}: ${Math.round(one.ours)} frames/s beside ${Math.round(one.bare)}`);
    }
  }
  return Object.entries(seen).flatMap(([what, each]) => linesOf(what, each));
}

function linesOf(what, each) {
  const ratios = each.map(({ ours, bare }) => ours / bare);
  return [
    line(`frames to 1,000 streams, ${what}, of a bare broadcaster's`, ratios, {
      bound: "≥ 0.8×",
      met: (value) => value >= 0.8,
    }),
    line(
      `ours, ${what}`,
      each.map(({ ours }) => ours),
      { unit: "frames/s" },
    ),
    line(
      `bare broadcaster, ${what}`,
      each.map(({ bare }) => bare),
      { unit: "frames/s" },
    ),
  ];
}
