/**
 * Accepting prompts: the rate over 64 connections to one agent beside a bare POST server, how many share an fsync, and
 * what one connection waits beside a page's fdatasync and a bare round trip. The agent's turn waits for its model all
 * the while, so nothing but accepting is measured.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, gatewayToken, modelEnv, startHost } from "./measure/host-process.mjs";
import { runNode, startNode } from "./measure/run-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { line } from "./measure/statistics.mjs";

const loadFile = join(import.meta.dirname, "load/post-load.mjs");
const seconds = 2;
const headers = { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" };
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

function load(url, agentId, mark, connections) {
  const body = JSON.stringify({
    agentId,
    prompt: "script:hold",
    clientNonce: "bench-{n}",
    whenBusy: "queue",
  });
  const plan = {
    url: `${url}/api/sendPrompt`,
    headers,
    body,
    connections,
    seconds,
    mark,
    probePath: "/health",
  };
  return runNode(loadFile, [], { input: JSON.stringify(plan) });
}

async function oneRound(round, { folder, host, bareUrl }) {
  const agentId = await createAgent(host, `round-${round}`);
  const fresh = (name) => `${name}-${round}`;
  const many = {
    bare: await load(bareUrl, agentId, fresh("bare-many"), 64),
    ours: await load(host.url, agentId, fresh("many"), 64),
  };
  const one = {
    sync: await runNode(join(import.meta.dirname, "baseline/sync-loop.mjs"), [folder, "1"]),
    bare: await load(bareUrl, agentId, fresh("bare-one"), 1),
    ours: await load(host.url, agentId, fresh("one"), 1),
  };
  const refused = many.ours.refused + one.ours.refused;
  if (refused > 0) throw new Error(`${refused} prompts were refused`);
  return { many, one };
}

/** Counts in a run of its own, because a traced host is a little slower. Both databases count, and the WAL's resets. */
async function countSyncs({ folder, env }) {
  const trace = join(folder, "syncs.txt");
  const calls = "trace=fsync,fdatasync";
  const prefix = ["strace", "-f", "--seccomp-bpf", "-e", calls, "-e", "signal=none", "-o", trace];
  const counted = [];
  await using host = await startHost({ folder, env, prefix });
  for (let round = 0; round < 5; round += 1) {
    const agentId = await createAgent(host, `traced-${round}`);
    const count = () => readFileSync(trace, "utf8").match(/f(?:data)?sync\(\d+/gu)?.length ?? 0;
    const before = count();
    const { count: accepts } = await load(host.url, agentId, `traced-${round}`, 64);
    counted.push(accepts / Math.max(1, count() - before));
  }
  return counted;
}

export async function benchAccept({ rounds, report }) {
  await using temp = await createTempFolder("bench-accept");
  await using model = await startModel(temp.path, { rules: [holdRule] });
  await using bare = startNode(join(import.meta.dirname, "baseline/post-server.mjs"));
  const bareUrl = `http://127.0.0.1:${(await bare.next()).port}`;
  const env = modelEnv(model.baseUrl);
  const seen = [];
  {
    await using host = await startHost({ folder: temp.path, env });
    for (let round = 0; round < rounds; round += 1) {
      seen.push(await oneRound(round, { folder: temp.path, host, bareUrl }));
      const { many, one } = seen[round];
      report(
        `round ${round + 1}: ${Math.round(many.ours.perSecond)}/s beside ${Math.round(many.bare.perSecond)}/s; one connection ${one.ours.latency.p50Ms.toFixed(2)} ms`,
      );
    }
  }
  const syncs = await countSyncs({ folder: temp.path, env });
  return accountFor(seen, syncs);
}

function accountFor(seen, syncs) {
  const each = (pick) => seen.map(pick);
  const beside = (at) => each(({ one }) => one.ours.latency[at] / (one.sync[at] + one.bare.latency[at]));
  const atLeast = (bound) => (value) => value >= bound;
  const atMost = (bound) => (value) => value <= bound;
  return [
    line("accepts for each fsync, 64 connections (strace, both databases)", syncs, {
      bound: "≥ 8",
      met: atLeast(8),
    }),
    line(
      "rate over 64 connections, of a bare POST's",
      each(({ many }) => many.ours.perSecond / many.bare.perSecond),
      {
        bound: "≥ 0.2×",
        met: atLeast(0.2),
      },
    ),
    line(
      "accepts, 64 connections",
      each(({ many }) => many.ours.perSecond),
      { unit: "/s" },
    ),
    line(
      "bare POSTs, 64 connections",
      each(({ many }) => many.bare.perSecond),
      { unit: "/s" },
    ),
    line("one connection, p50 beside fdatasync + bare round trip", beside("p50Ms"), {
      bound: "≤ 3×",
      met: atMost(3),
    }),
    line("one connection, p99 beside the same", beside("p99Ms"), { bound: "≤ 8×", met: atMost(8) }),
    line(
      "one connection, p50",
      each(({ one }) => one.ours.latency.p50Ms),
      { unit: "ms" },
    ),
    line(
      "one connection, p99",
      each(({ one }) => one.ours.latency.p99Ms),
      { unit: "ms" },
    ),
    line(
      "fdatasync of 4 KiB, p50",
      each(({ one }) => one.sync.p50Ms),
      { unit: "ms" },
    ),
    line(
      "fdatasync of 4 KiB, p99",
      each(({ one }) => one.sync.p99Ms),
      { unit: "ms" },
    ),
    line(
      "/health beside 64 connections, p50",
      each(({ many }) => many.ours.probe.p50Ms),
      { unit: "ms" },
    ),
    line(
      "/health beside 64 connections, p99",
      each(({ many }) => many.ours.probe.p99Ms),
      { unit: "ms" },
    ),
    line(
      "the same on the bare server, p99",
      each(({ many }) => many.bare.probe.p99Ms),
      { unit: "ms" },
    ),
    line(
      "/health beside one connection, p99",
      each(({ one }) => one.ours.probe.p99Ms),
      { unit: "ms" },
    ),
    line(
      "the same on the bare server, p99",
      each(({ one }) => one.bare.probe.p99Ms),
      { unit: "ms" },
    ),
  ];
}
