/**
 * Issue 5, corruption: data roots with flipped bytes, torn pages, truncated files, missing logs, exchanged databases and
 * a damaged index, each from its seed; each is taken up, and all that is shown is compared with what was written. It may
 * be stopped: groups of runs that are done are kept.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { addUp, runCorruption } from "../../packages/store/test/corruption/run-corruption.ts";

const runsPerGroup = 50;
/** of the rows that lie on no damaged page */
const keptMin = 0.99;
const controlRuns = 8;

/**
 * @param {{seed: number, runs: number, stateFile: string, report: (line: string) => void}} options
 * @returns {Promise<{figures: Record<string, unknown>, findings: string[]}>}
 */
export async function proveCorruption({ seed, runs, stateFile, report }) {
  mkdirSync(dirname(stateFile), { recursive: true });
  const done = readDone(stateFile, seed);
  for (let from = 0; from < runs; from += runsPerGroup) {
    if (done.has(from)) continue;
    const group = await runCorruption({ seed, from, runs: Math.min(runsPerGroup, runs - from) });
    done.set(from, group);
    appendFileSync(stateFile, `${JSON.stringify({ seed, from, group })}\n`);
    report(`runs ${from} to ${from + group.runs}: ${group.kept} of ${group.intact} intact rows kept`);
  }
  const sums = addUp([...done.values()]);
  const total = [...done.values()].reduce((count, group) => count + group.runs, 0);
  const control = await runCorruption({
    ...{ seed, runs: controlRuns, only: ["flipped bytes"], rules: { believesAll: true } },
  });
  const findings = [...sums.findings];
  const share = sums.intact === 0 ? 0 : sums.kept / sums.intact;
  if (share < keptMin) findings.push(`${sums.kept} of ${sums.intact} intact rows were kept`);
  if (control.findings.length === 0) findings.push("a repair that believes all that it reads isn't noticed");
  const { intact, kept, repaired, refused, behind } = sums;
  return {
    figures: {
      runs: total,
      intact,
      kept,
      share,
      repaired,
      refused,
      behind,
      control: control.findings.length,
    },
    findings,
  };
}

function readDone(stateFile, seed) {
  const lines = existsSync(stateFile) ? readFileSync(stateFile, "utf8").split("\n").filter(Boolean) : [];
  const groups = lines.map((line) => JSON.parse(line)).filter((line) => line.seed === seed);
  return new Map(groups.map(({ from, group }) => [from, group]));
}
