/**
 * `pnpm bench [name …]`: measures the built programs beside base lines that import nothing of ours, prints medians and
 * raw figures, and writes them to `docs/benchmarks.md`. Without a name all benches run, one after the other.
 *
 *   --rounds N   interleaved rounds (5)
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benches } from "../bench/benches.mjs";
import { renderPage } from "../bench/measure/render-page.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" } },
});
const rounds = Number(values.rounds);
const names = positionals.length === 0 ? Object.keys(benches) : positionals;
const unknown = names.filter((name) => benches[name] === undefined);
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
  console.error(`usage: pnpm bench [${Object.keys(benches).join(" | ")}] [--rounds N]`);
  process.exit(2);
}

const root = join(import.meta.dirname, "..");
const scratch = join(root, ".tmp", "bench");
const kept = join(scratch, "results.json");
mkdirSync(scratch, { recursive: true });
const results = existsSync(kept) ? JSON.parse(readFileSync(kept, "utf8")) : {};

let missed = 0;
for (const name of names) {
  console.log(`${name}:`);
  const lines = await benches[name].run({ rounds, report: (text) => console.log(`  ${text}`) });
  for (const { name: what, value, unit, bound, met, raw } of lines) {
    const verdict = met === null ? "" : met ? `  ok (${bound})` : `  MISSED (${bound})`;
    console.log(`  ${what}: ${value} ${unit}${verdict}  [${raw.join(", ")}]`);
    if (met === false) missed += 1;
  }
  results[name] = { date: new Date().toISOString().slice(0, 10), rounds, lines };
  writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`);
  if (rounds >= 5) writeFileSync(join(root, "docs", "benchmarks.md"), renderPage(benches, results));
}
process.exitCode = missed === 0 ? 0 : 1;
