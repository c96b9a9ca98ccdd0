/**
 * Builds the image and kills its container over and over while agents work: `node scripts/container-kills.mjs`.
 *
 *   --kills N     how often (100)
 *   --seed S      repeats a run; printed at its start
 *   --control     afterwards the negative control too: without a ledger the check must find doubled effects
 */
import { parseArgs } from "node:util";
import { proveContainer } from "./proofs/prove-container.mjs";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string" },
    control: { type: "boolean", default: false },
  },
});
const kills = Number(values.kills);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(kills) || kills < 1) throw new Error("--kills takes a whole number");
console.log(`container kills: seed ${seed}`);

const { figures, findings } = await proveContainer({
  kills,
  seed,
  withControl: values.control,
  report: (line) => console.log(line),
});
console.log(JSON.stringify(figures));
for (const finding of findings) console.log(`FINDING ${finding}`);
console.log(findings.length === 0 ? "container kills: passed" : "container kills: FAILED");
process.exitCode = findings.length === 0 ? 0 : 1;
