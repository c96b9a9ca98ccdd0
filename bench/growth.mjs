/**
 * What a step costs the host with 10 and with 100,000 stored entries, the window full in both: a model that answers at
 * once asks for `true` again and again. Processor time of the host is the figure, since the rest of the machine has no
 * part in it; the time from one model call to the next is shown beside it. A round is two turns of each agent, the one
 * with little history first and last, so that what drifts within a round falls on both.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, modelEnv, readCpuMs, startDaemon, startHost } from "./measure/host-process.mjs";
import { startModel } from "./measure/scripted-model.mjs";
import { seedHistory } from "./measure/seed-history.mjs";
import { line } from "./measure/statistics.mjs";
import { medianGap, runTurn, stepScript, steps } from "./measure/step-script.mjs";

/**
 * 10 entries are 5 turns. Four of these fill the window of 100,000 tokens but for the turns that run here, and a turn is
 * taken whole or not at all; so requests are the same, whatever lies behind. A window that isn't full would take a
 * hundred small turns more from the long history, and the figure would be that of a larger request.
 */
const large = { largeTurns: 5, largeChars: 82_000 };
const sizes = { few: 10, many: 100_000 };

async function measureTurn(turn) {
  const cpuBefore = readCpuMs(turn.host.pid);
  const calls = await runTurn(turn);
  return { cpuMs: (readCpuMs(turn.host.pid) - cpuBefore) / (steps + 1), gapMs: medianGap(calls) };
}

async function prepare(folder, env, report) {
  const ids = {};
  {
    await using host = await startHost({ folder, env });
    for (const size of Object.keys(sizes)) ids[size] = await createAgent(host, size);
  }
  let firstSeq = 1_000_000;
  for (const [size, entries] of Object.entries(sizes)) {
    const seed = { dataRoot: join(folder, "data"), agentId: ids[size], entries, ...large, firstSeq };
    firstSeq = (await seedHistory(seed)) + 1;
    report(`${entries} entries are stored`);
  }
  return ids;
}

/** One round: what each size cost, as the mean of its two turns. */
async function measureRound({ host, model, ids, round }) {
  const turns = { few: [], many: [] };
  for (const [at, size] of ["few", "many", "many", "few"].entries())
    turns[size].push(await measureTurn({ host, model, agentId: ids[size], mark: `${size}-${round}-${at}` }));
  const mean = ([one, other], what) => (one[what] + other[what]) / 2;
  const both = (pair) => ({ cpuMs: mean(pair, "cpuMs"), gapMs: mean(pair, "gapMs") });
  return { few: both(turns.few), many: both(turns.many) };
}

export async function benchGrowth({ rounds, report }) {
  await using temp = await createTempFolder("bench-growth");
  await using model = await startModel(temp.path, stepScript("Shell", { command: "true" }));
  const env = modelEnv(model.baseUrl);
  const ids = await prepare(temp.path, env, report);
  await using _daemon = await startDaemon({ folder: temp.path });
  await using host = await startHost({ folder: temp.path, env });
  // The first turn of each compiles the code and is no measure.
  for (const size of Object.keys(sizes))
    await measureTurn({ host, model, agentId: ids[size], mark: `${size}-warm` });
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    seen.push(await measureRound({ host, model, ids, round }));
    const { few, many } = seen[round];
    report(`round ${round + 1}: ${few.cpuMs.toFixed(1)} and ${many.cpuMs.toFixed(1)} ms a step`);
  }
  const ratio = (what) => seen.map(({ few, many }) => many[what] / few[what]);
  const each = (size, what) => [seen.map((round) => round[size][what]), { unit: "ms" }];
  return [
    line("host's processor time a step, 100,000 entries beside 10", ratio("cpuMs"), {
      bound: "≤ 1.2×",
      met: (value) => value <= 1.2,
    }),
    line("with 10 entries", ...each("few", "cpuMs")),
    line("with 100,000 entries", ...each("many", "cpuMs")),
    line("one model call to the next, 100,000 entries beside 10", ratio("gapMs"), {}),
    line("one model call to the next, with 100,000 entries", ...each("many", "gapMs")),
  ];
}
