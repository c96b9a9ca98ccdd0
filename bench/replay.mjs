/**
 * How fast turns are replayed from disk: an event is one stored record of a turn, read, parsed, checked, decided again
 * and compared, with every request built and hashed anew. Beside it what reading and parsing the same rows costs alone.
 */
import { join } from "node:path";
import { createJournalReader } from "../packages/host/src/replay/read-journals.ts";
import { replayTurn } from "../packages/host/src/replay/replay-turn.ts";
import { createRequestChecks } from "../packages/host/src/replay/request-checks.ts";
import { openAgentReading } from "../packages/store/src/archives/door.ts";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { seedJournals } from "./measure/seed-journals.mjs";
import { line } from "./measure/statistics.mjs";

const agentId = "agent-1";
const size = { turns: 500, steps: 20, window: 6 };
const target = 50_000;

/** Events for each second of processor time, which another load of the machine doesn't change much. */
function measure(directory, work) {
  using reading = openAgentReading(directory);
  const reader = createJournalReader(agentId, reading);
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const events = work(reader);
  const { user, system } = process.cpuUsage(before);
  return {
    perCpuSecond: (events / (user + system)) * 1e6,
    perSecond: (events / (performance.now() - startedMs)) * 1e3,
  };
}

function replayAll(reader) {
  const checks = createRequestChecks(reader);
  let events = 0;
  for (const journal of reader.all()) {
    const replay = replayTurn(journal, checks);
    if (replay.kind !== "same") throw new Error(JSON.stringify(replay));
    events += replay.records;
  }
  return events;
}

function readAll(reader) {
  let events = 0;
  for (const journal of reader.all()) events += journal.records.length;
  return events;
}

export async function benchReplay({ rounds, report }) {
  const root = await createTempFolder("bench-replay");
  try {
    const directory = join(root.path, agentId);
    const records = await seedJournals({ directory, agentId, ...size });
    report(`${records} records of ${size.turns} turns are stored`);
    const found = { replayed: [], wall: [], read: [] };
    measure(directory, replayAll);
    for (let round = 0; round < rounds; round += 1) {
      const read = measure(directory, readAll);
      const replayed = measure(directory, replayAll);
      found.read.push(read.perCpuSecond);
      found.replayed.push(replayed.perCpuSecond);
      found.wall.push(replayed.perSecond);
      report(
        `${Math.round(replayed.perCpuSecond)} events per cpu second, ${Math.round(replayed.perSecond)} per second; reading alone ${Math.round(read.perCpuSecond)}`,
      );
    }
    return [
      line("events replayed for each second of processor time", found.replayed, {
        bound: `>= ${target.toLocaleString("en")}`,
        met: (value) => value >= target,
        unit: "events",
      }),
      line("events replayed a second", found.wall, { unit: "events" }),
      line("the same rows only read, for each second of processor time", found.read, { unit: "events" }),
    ];
  } finally {
    await root.remove();
  }
}
