/**
 * Builds the image and kills its container over and over while agents work: `node scripts/container-kills.mjs`.
 *
 *   --kills N      how often (100)
 *   --seed S       repeats a run; printed at its start
 *   --ledger off   the negative control: succeeds when the check finds doubled effects
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { proveContainerKills } from "../test/container-kills.ts";

const { values } = parseArgs({
  options: { kills: { type: "string" }, seed: { type: "string" }, ledger: { type: "string" } },
});
const hasLedger = values.ledger !== "off";
const kills = Number(values.kills ?? 100);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(kills) || kills < 1) throw new Error("--kills takes a whole number");
console.log(`container kills: seed ${seed}`);

const tag = `sand-box:kills-${process.pid}`;
const script = join(import.meta.dirname, "build-image.mjs");
execFileSync(process.execPath, [script, "--tag", tag], { stdio: ["ignore", "ignore", "inherit"] });
try {
  const report = (line) => console.log(line);
  const result = await proveContainerKills({ image: tag, kills, seed, hasLedger, report });
  console.log(JSON.stringify(result.figures));
  for (const finding of result.findings) console.log(`FINDING ${finding}`);
  const isDoubled = result.findings.some((finding) => / happened \d+ times$/u.test(finding));
  const passed = hasLedger ? result.findings.length === 0 : isDoubled;
  console.log(passed ? "container kills: passed" : "container kills: FAILED");
  process.exitCode = passed ? 0 : 1;
} finally {
  execFileSync("docker", ["rmi", tag], { stdio: "ignore" });
}
