/** A sample of `pnpm proof 5 --only corruption`: each kind of damage once, and the control that must be caught. */
import { expect, test } from "vitest";
import { kinds } from "./corruption/inflict.ts";
import { runCorruption } from "./corruption/run-corruption.ts";

const size = { turns: 60, noise: 6_600 };
/** a loaded machine takes its time */
const deadlineMs = 300_000;
const seed = 20_261_130;

test(
  "after each kind of damage the rest starts, what is intact is there, and nothing wrong is shown",
  async () => {
    const found = await runCorruption({ seed, runs: Object.keys(kinds).length, size });
    expect(found.findings).toEqual([]);
    expect(found.repaired).toBeGreaterThan(4);
    expect(found.kept / found.intact).toBeGreaterThanOrEqual(0.99);
  },
  deadlineMs,
);

test(
  "a repair that believes all that it reads shows rows that nobody wrote",
  async () => {
    const found = await runCorruption({
      seed,
      runs: 8,
      size,
      only: ["flipped bytes"],
      rules: { believesAll: true },
    });
    expect(found.findings.join("\n")).toContain(" shows ");
  },
  deadlineMs,
);
