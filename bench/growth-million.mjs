/**
 * 10 entries beside 1,000,000: two hosts, each with one agent, asked for the same things by turns. How long the first
 * look at the transcript takes after a start; what a page, a step and an acceptance cost in processor time; and what the
 * hosts have in memory after all of it. The window is full and the same in both (see `growth.mjs`).
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import {
  call,
  createAgent,
  modelEnv,
  readCpuMs,
  readResidentMb,
  startDaemon,
  startHost,
} from "./measure/host-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { seedHistory } from "./measure/seed-history.mjs";
import { line, median } from "./measure/statistics.mjs";
import { runTurn, stepScript, steps } from "./measure/step-script.mjs";

const large = { largeTurns: 5, largeChars: 82_000 };
const sizes = { few: 10, many: 1_000_000 };
/** a question and an answer by turns follow this number */
const firstSeq = 1_000_000;
const pagesPerRound = 200;
const acceptsPerRound = 100;
/** a host tidies up its memory a moment after its start, which is no part of a first look */
const settleMs = 1_500;
/** what the newest page holds: as much as the short history has of settled turns, so that both read the same */
const pageLimit = 4;

const script = stepScript("Shell", { command: "true" });
const holdRule = { name: "hold", steps: [{ fault: { kind: "hang", at: "headers" } }] };

/** One data root with one agent of that many entries. */
async function prepareRoot({ folder, size, env, report }) {
  let agentId;
  {
    await using host = await startHost({ folder, env });
    agentId = await createAgent(host, size);
    // Another one to try the code on, before anything is measured.
    await createAgent(host, "warm");
  }
  const entries = sizes[size];
  const startedMs = performance.now();
  await seedHistory({ dataRoot: join(folder, "data"), agentId, entries, ...large, firstSeq });
  report(`${entries} entries are stored, in ${Math.round((performance.now() - startedMs) / 1000)} s`);
  return agentId;
}

/** How long the first page of a closed store takes, in a host that has shown another agent before. */
async function measureOpening({ folder, env, agentId }) {
  await using host = await startHost({ folder, env });
  const [warm] = (await call(host, "listAgents", {})).filter(({ id }) => id !== agentId);
  for (let at = 0; at < 3; at += 1)
    await call(host, "getAgentTranscriptWindow", { id: warm.id, limit: pageLimit });
  await delay(settleMs);
  const cpuBefore = readCpuMs(host.pid);
  const startedMs = performance.now();
  await call(host, "getAgentTranscriptWindow", { id: agentId, limit: pageLimit });
  return { ms: performance.now() - startedMs, cpuMs: readCpuMs(host.pid) - cpuBefore };
}

/** Asks `count` times, one after the other; processor time of the host for each, and the median of the waiting. */
async function repeat(host, count, ask) {
  const cpuBefore = readCpuMs(host.pid);
  const waits = [];
  for (let at = 0; at < count; at += 1) {
    const startedMs = performance.now();
    await ask(at);
    waits.push(performance.now() - startedMs);
  }
  return { cpuMs: (readCpuMs(host.pid) - cpuBefore) / count, ms: median(waits) };
}

const kinds = {
  page: ({ host, agentId }) =>
    repeat(host, pagesPerRound, () =>
      call(host, "getAgentTranscriptPage", { id: agentId, limit: pageLimit }),
    ),
  /** one short entry in the middle, by each of the ways to it; entries of the short history are numbered alike */
  middle({ host, agentId, entries }) {
    const beforeSeq = firstSeq + entries / 2 - ((entries / 2) % 2) + 2;
    const commands = ["getAgentTranscriptPage", "getAgentTranscriptWindow", "getAgentTranscriptTail"];
    return repeat(host, pagesPerRound, (at) =>
      call(host, commands[at % commands.length], { id: agentId, limit: 1, beforeSeq }),
    );
  },
  async step({ host, model, agentId }, mark) {
    const cpuBefore = readCpuMs(host.pid);
    const startedMs = performance.now();
    await runTurn({ host, model, agentId, mark });
    const each = (total) => total / (steps + 1);
    return { cpuMs: each(readCpuMs(host.pid) - cpuBefore), ms: each(performance.now() - startedMs) };
  },
  accept: ({ host, agentId }, mark) =>
    repeat(host, acceptsPerRound, (at) => prompt({ host, agentId }, "hello", `accept-${mark}-${at}`)),
};

function prompt({ host, agentId }, text, clientNonce) {
  return call(host, "sendPrompt", { agentId, prompt: text, clientNonce, whenBusy: "queue" });
}

/** Rounds of one kind, each with both sizes twice, the short history first and last. */
async function measureKind(kind, worlds, { rounds, report }) {
  // What is compiled and cached first is no measure.
  for (const size of Object.keys(sizes)) await kinds[kind](worlds[size], `${kind}-${size}-warm`);
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    const both = { few: [], many: [] };
    for (const [at, size] of ["few", "many", "many", "few"].entries())
      both[size].push(await kinds[kind](worlds[size], `${kind}-${size}-${round}-${at}`));
    const mean = ([one, other]) => ({ cpuMs: (one.cpuMs + other.cpuMs) / 2, ms: (one.ms + other.ms) / 2 });
    seen.push({ few: mean(both.few), many: mean(both.many) });
    const { few, many } = seen[round];
    report(`${kind}, round ${round + 1}: ${few.cpuMs.toFixed(2)} and ${many.cpuMs.toFixed(2)} ms`);
  }
  return seen;
}

export async function benchGrowthMillion({ rounds, report }) {
  await using temp = await createTempFolder("bench-growth-million");
  const rules = [...script.rules, holdRule];
  await using model = await startModel(temp.path, { ...script, rules });
  const env = modelEnv(model.baseUrl);
  const folders = { few: join(temp.path, "few"), many: join(temp.path, "many") };
  const ids = {};
  for (const [size, folder] of Object.entries(folders))
    ids[size] = await prepareRoot({ folder, size, env, report });
  const opening = [];
  for (let round = 0; round < rounds; round += 1)
    opening.push({
      few: await measureOpening({ folder: folders.few, env, agentId: ids.few }),
      many: await measureOpening({ folder: folders.many, env, agentId: ids.many }),
    });
  report(`first page: ${opening.map(({ few, many }) => `${few.ms.toFixed(1)}/${many.ms.toFixed(1)}`)} ms`);
  await using _fewDaemon = await startDaemon({ folder: folders.few });
  await using _manyDaemon = await startDaemon({ folder: folders.many });
  await using few = await startHost({ folder: folders.few, env });
  await using many = await startHost({ folder: folders.many, env });
  const worlds = {
    few: { host: few, model, agentId: ids.few, entries: sizes.few },
    many: { host: many, model, agentId: ids.many, entries: sizes.many },
  };
  const seen = { opening };
  for (const kind of ["page", "middle", "step"])
    seen[kind] = await measureKind(kind, worlds, { rounds, report });
  // From here on the turn of each waits for its model, and prompts are accepted behind it.
  for (const size of Object.keys(sizes)) await prompt(worlds[size], "script:hold", `hold-${size}`);
  seen.accept = await measureKind("accept", worlds, { rounds, report });
  return linesOf(seen, { few: readResidentMb(few.pid), many: readResidentMb(many.pid) });
}

function linesOf(seen, resident) {
  const ratio = (kind, what) => seen[kind].map(({ few, many }) => many[what] / few[what]);
  const within = (bound) => ({ bound: `≤ ${bound}×`, met: (value) => value <= bound });
  const title = {
    opening: "first page after a start",
    page: "the newest page",
    middle: "an entry in the middle",
    step: "a step",
    accept: "an acceptance",
  };
  const ofKinds = Object.keys(title).flatMap((kind) => [
    line(`${title[kind]}, processor time, 1,000,000 entries beside 10`, ratio(kind, "cpuMs"), within(1.25)),
    line(`${title[kind]}, time`, ratio(kind, "ms"), {}),
    line(
      `${title[kind]} with 1,000,000 entries, processor time`,
      seen[kind].map(({ many }) => many.cpuMs),
      { unit: "ms" },
    ),
  ]);
  return [
    ...ofKinds,
    line("resident after all of it, 1,000,000 beside 10", [resident.many / resident.few], within(1.15)),
    line("resident with 1,000,000 entries", [resident.many], { unit: "MB" }),
  ];
}
