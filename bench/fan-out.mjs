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
const posts = 300;
const connections = 16;
const promptChars = 400;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

async function deliver({ eventsUrl, postUrl, body, mark }) {
  const wanted = { url: eventsUrl, headers, streams, frames: posts };
  await using reader = startNode(join(import.meta.dirname, "load/read-streams.mjs"), [], {
    input: JSON.stringify(wanted),
  });
  await reader.next();
  const plan = { url: postUrl, headers, body, connections, posts, seconds: 0, mark };
  const load = runNode(join(import.meta.dirname, "load/post-load.mjs"), [], { input: JSON.stringify(plan) });
  const [{ tookMs, bytes }] = await Promise.all([reader.next(), load]);
  return { perSecond: (streams * posts * 1000) / tookMs, frameBytes: bytes / streams / posts };
}

export async function benchFanOut({ rounds, report }) {
  await using temp = await createTempFolder("bench-fan-out");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  await using host = await startHost({ folder: temp.path, env: modelEnv(model.baseUrl) });
  await using bare = startNode(join(import.meta.dirname, "baseline/event-broadcaster.mjs"));
  const bareUrl = `http://127.0.0.1:${(await bare.next()).port}/`;
  const seen = { ours: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    const agentId = await createAgent(host, `round-${round}`);
    const prompt = `script:hold ${"x".repeat(promptChars)}`;
    const body = JSON.stringify({ agentId, prompt, clientNonce: "bench-{n}", whenBusy: "queue" });
    const eventsUrl = `${host.url}/events?channels=transcript`;
    const ours = await deliver({
      eventsUrl,
      postUrl: `${host.url}/api/sendPrompt`,
      body,
      mark: `ours-${round}`,
    });
    // The bare frame is padded to the size of ours: what differs is then the work, not the bytes.
    const frameLine = "data: \n\n".length;
    const padded = "x".repeat(Math.max(1, Math.round(ours.frameBytes) - frameLine));
    const other = await deliver({
      eventsUrl: bareUrl,
      postUrl: bareUrl,
      body: padded,
      mark: `bare-${round}`,
    });
    seen.ours.push(ours.perSecond);
    seen.bare.push(other.perSecond);
    report(
      `round ${round + 1}: ${Math.round(ours.perSecond)} frames/s beside ${Math.round(other.perSecond)}, of ${Math.round(ours.frameBytes)} bytes`,
    );
  }
  const ratios = seen.ours.map((value, at) => value / seen.bare[at]);
  return [
    line("frames to 1,000 streams, of a bare broadcaster's", ratios, {
      bound: "≥ 0.8×",
      met: (value) => value >= 0.8,
    }),
    line("ours", seen.ours, { unit: "frames/s" }),
    line("bare broadcaster", seen.bare, { unit: "frames/s" }),
  ];
}
