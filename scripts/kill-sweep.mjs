/**
 * `pnpm kill-sweep`: kills hosts and daemons while agents work, and has an outside checker look for what was lost or
 * done twice. Without options it's the whole sweep; `--runs N` is a sample of N kills of all kinds.
 *
 *   --runs N          a sample: N kills in all
 *   --random N        random kills of the shipped host (150)
 *   --failpoints N    hits for each failpoint of the test build (3)
 *   --daemon N        kills of the daemon while a command runs (30)
 *   --ledger off      only the negative control: succeeds when the checker finds doubled effects
 *   --seed S          repeats a run; printed at its start
 *   --resume          adds up with earlier starts at unchanged code and the same seed
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { proveKillSweep } from "../packages/testkit/src/proofs/door.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string" },
    random: { type: "string" },
    failpoints: { type: "string" },
    daemon: { type: "string" },
    ledger: { type: "string" },
    seed: { type: "string" },
    resume: { type: "boolean", default: false },
  },
});

// An end by signal must not leave worlds of processes behind; the kit takes them down when this process exits.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));

const scratch = join(import.meta.dirname, "..", ".tmp", "kill-sweep");
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);

/** A count that isn't one would silently prove nothing. */
function count(name, fallback) {
  const text = values[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 100_000)
    throw new Error(`--${name} takes a whole number`);
  return number;
}

function chooseSize() {
  if (values.ledger === "off")
    return { randomKills: 0, daemonKills: 0, hitsPerFailpoint: 0, withControl: true };
  const runs = count("runs", undefined);
  if (runs !== undefined) {
    const failpointSample = Math.floor(runs / 4);
    const daemonKills = Math.floor(runs / 8);
    const randomKills = runs - failpointSample - daemonKills;
    return { randomKills, daemonKills, hitsPerFailpoint: 1, failpointSample, withControl: false };
  }
  const only = values.random !== undefined || values.failpoints !== undefined || values.daemon !== undefined;
  return {
    randomKills: count("random", only ? 0 : 150),
    hitsPerFailpoint: count("failpoints", only ? 0 : 3),
    daemonKills: count("daemon", only ? 0 : 30),
    withControl: !only,
  };
}

console.log(`kill sweep: seed ${seed}`);
const result = await proveKillSweep({
  ...chooseSize(),
  seed,
  keepFailedIn: join(scratch, "failed"),
  ...(values.resume ? { stateFile: join(scratch, "state.jsonl") } : {}),
  report: (line) => console.log(line),
});
console.log(JSON.stringify(result.figures));
for (const [name, hits] of Object.entries(result.hits)) if (hits > 0) console.log(`  ${name}: ${hits} hits`);
for (const finding of result.findings) console.log(`FINDING ${finding}`);
console.log(
  result.findings.length === 0
    ? "kill sweep: passed"
    : `kill sweep: ${result.findings.length} findings; repeat with --seed ${seed}, failed worlds are in ${scratch}/failed`,
);
process.exitCode = result.findings.length === 0 ? 0 : 1;
