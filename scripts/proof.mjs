/**
 * `pnpm proof <issue>`: runs each "must show" of an issue in full and writes `docs/proofs/<issue>.json` with commit,
 * seed, figures and date. It may be stopped: parts that are done are kept and add up at unchanged code.
 *
 *   --seed S      repeats a proof
 *   --only NAME   one part alone; the record keeps what it has of the others, each with the commit that it ran at
 *   --scale N     a share of the sizes, for parts that have some, to see that they work; nothing is written to docs
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import * as kit from "../packages/testkit/src/proofs/door.ts";
import { proofs } from "./proofs/parts.mjs";

// An end by signal must not leave worlds of processes behind; the kit takes them down when this process exits.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));

const root = join(import.meta.dirname, "..");
const defaultSeed = 20_261_130;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, only: { type: "string" }, scale: { type: "string" } },
});
const issue = positionals[0] ?? "";
const parts = proofs[issue];
if (parts === undefined) {
  console.error(`usage: pnpm proof <issue>; there are proofs for ${Object.keys(proofs).join(", ")}`);
  process.exit(2);
}

const seed = values.seed === undefined ? defaultSeed : Number(values.seed);
const scale = values.scale === undefined ? 1 : Number(values.scale);
if (!(scale > 0 && scale <= 1)) throw new Error("--scale is above 0 and at most 1");
const scratch = join(root, ".tmp", "proofs", issue);
const bundles = kit.findBundles("shipped");
const code = kit.digestBundles(bundles, kit.findBundles("test"));
const state = kit.openProofState(
  join(scratch, "parts.jsonl"),
  scale === 1 ? `${code}/${seed}` : `${code}/${seed}/${scale}`,
);
console.log(`proof of issue ${issue}: seed ${seed}, bundles ${code.slice(0, 12)}`);

const shown = {};
let failed = 0;
for (const [name, prove] of Object.entries(parts)) {
  if (values.only !== undefined && values.only !== name) continue;
  console.log(`${name}:`);
  const { passed, ...record } = await runPart(name, prove);
  for (const finding of record.findings) console.log(`  FINDING ${finding}`);
  console.log(`  ${passed ? "passed" : "FAILED"} ${JSON.stringify(record.figures)}`);
  shown[name] = { passed, ...record };
  if (!passed) failed += 1;
}
if (scale === 1 && Object.keys(shown).length > 0) writeRecord();
console.log(failed === 0 ? "all parts passed" : `${failed} parts failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** A failed part isn't kept: the next start tries it again. */
async function runPart(name, prove) {
  const startedMs = Date.now();
  const attempt = async () => {
    const { figures, findings, histogram, hits } = await prove({ bundles, seed, scratch, scale });
    const result = { figures, findings: findings.slice(0, 50), histogram, hits };
    const tookSeconds = Math.round((Date.now() - startedMs) / 1000);
    return { passed: findings.length === 0, tookSeconds, at: new Date().toISOString(), ...result };
  };
  try {
    return await state.once(name, async () => {
      const result = await attempt();
      if (!result.passed) throw Object.assign(new Error(`${name} failed`), { result });
      return result;
    });
  } catch (error) {
    if (error.result !== undefined) return error.result;
    return { passed: false, figures: {}, findings: [String(error.stack ?? error)] };
  }
}

/** Parts run for up to hours, so each says what it ran at; the issue is proved when all of its parts have passed. */
function writeRecord() {
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const ranAt = {
    commit: git("rev-parse", "HEAD"),
    dirty: git("status", "--porcelain", "--", "packages", "scripts", "proto") !== "",
    bundlesSha256: code,
    seed,
    node: process.version,
  };
  const file = join(root, "docs", "proofs", `${issue}.json`);
  const known = { ...readParts(file) };
  for (const [name, part] of Object.entries(shown)) known[name] = { ...part, ranAt };
  const names = Object.keys(parts).filter((name) => known[name] !== undefined);
  const record = {
    issue: Number(issue),
    passed: Object.keys(parts).every((name) => known[name]?.passed === true),
    date: new Date().toISOString(),
    parts: Object.fromEntries(names.map((name) => [name, known[name]])),
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  console.log(`wrote docs/proofs/${issue}.json`);
}

function readParts(file) {
  if (!existsSync(file)) return {};
  const record = JSON.parse(readFileSync(file, "utf8"));
  const { commit, dirty, bundlesSha256, seed: ranWith, node } = record;
  // Records from before said it once for all of their parts.
  const once = commit === undefined ? {} : { ranAt: { commit, dirty, bundlesSha256, seed: ranWith, node } };
  return Object.fromEntries(Object.entries(record.parts).map(([name, part]) => [name, { ...once, ...part }]));
}
