/**
 * Searching over 1,000,000 messages of 20 agents through the gateway, with words from the most common to the rarest, and
 * what it takes to make the index from the stores.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { call, createAgent, readCpuMs, startHost } from "./measure/host-process.mjs";
import { createNumbers, ranks, seedMessages, wordOf } from "./measure/seed-messages.mjs";
import { line } from "./measure/statistics.mjs";

const messages = 1_000_000;
const agents = 20;
const queriesPerRound = 100;
const indexedByMs = 30 * 60_000;

const from = (next, [low, high]) => wordOf(low + ((next() >>> 8) % (high - low)));

/** each kind as a person asks: whole words, phrases, and a word that is still being typed */
const kinds = {
  "a common word": (next) => `${from(next, ranks.common)} `,
  "a rare word": (next) => `${from(next, ranks.rare)} `,
  "two common words": (next) => `${from(next, ranks.common)} ${from(next, ranks.common)} `,
  "a common and a rare word": (next) => `${from(next, ranks.common)} ${from(next, ranks.rare)} `,
  "a phrase": (next) => `"${from(next, ranks.common)} ${from(next, ranks.common)}"`,
  "the beginning of a word": (next) => from(next, ranks.middling).slice(0, 3),
};

function p95(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)];
}

async function timeSearches(host, next, query) {
  const times = [];
  for (let asked = 0; asked < queriesPerRound; asked += 1) {
    const text = query(next);
    const startedMs = performance.now();
    await call(host, "searchAgents", { query: text });
    times.push(performance.now() - startedMs);
  }
  return times;
}

async function whenIndexed(host, report) {
  const startedMs = performance.now();
  const cpuBefore = readCpuMs(host.pid);
  const healthMs = [];
  let told = -1;
  for (;;) {
    const status = await call(host, "getSearchStatus", {});
    if (status.state === "ready" && status.agentsTotal === agents) break;
    if (performance.now() - startedMs > indexedByMs) throw new Error("the index wasn't made in time");
    if (status.agentsDone !== told) report(`${status.agentsDone} of ${agents} agents are indexed`);
    told = status.agentsDone;
    const askedMs = performance.now();
    await (await fetch(`${host.url}/health`)).arrayBuffer();
    healthMs.push(performance.now() - askedMs);
    await pause(200);
  }
  const tookMs = performance.now() - startedMs;
  return { tookMs, cpuMs: readCpuMs(host.pid) - cpuBefore, healthMs: p95(healthMs) };
}

async function prepare(folder, report) {
  const agentIds = [];
  {
    await using host = await startHost({ folder });
    for (let made = 0; made < agents; made += 1) agentIds.push(await createAgent(host, `agent ${made}`));
  }
  await seedMessages({ dataRoot: join(folder, "data"), agentIds, messages, firstSeq: 1_000_000, report });
}

export async function benchSearch({ rounds, report }) {
  await using temp = await createTempFolder("bench-search");
  await prepare(temp.path, report);
  await using host = await startHost({ folder: temp.path });
  const indexed = await whenIndexed(host, report);
  const next = createNumbers(11);
  const seen = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
  const all = [];
  for (let round = 0; round < rounds; round += 1) {
    const times = [];
    for (const [kind, query] of Object.entries(kinds)) {
      const taken = await timeSearches(host, next, query);
      seen[kind].push(p95(taken));
      times.push(...taken);
    }
    all.push(p95(times));
    report(`round ${round + 1}: p95 ${all[round].toFixed(1)} ms`);
  }
  const bytes = statSync(join(temp.path, "data/search-index.db")).size;
  return [
    line("a search over 1,000,000 messages, p95", all, {
      bound: "< 50 ms",
      met: (value) => value < 50,
      unit: "ms",
    }),
    ...Object.entries(seen).map(([kind, times]) => line(`${kind}, p95`, times, { unit: "ms" })),
    line("the index made from the stores", [indexed.tookMs / 1_000], { unit: "s" }),
    line("its processor time for 1,000 messages", [indexed.cpuMs / (messages / 1_000)], { unit: "ms" }),
    line("`/health` meanwhile, p95", [indexed.healthMs], { unit: "ms" }),
    line("its size for each message", [bytes / messages], { unit: "bytes" }),
  ];
}
