/** A sample of power cuts of the shipped host; `pnpm proof 5` makes them all. The controls break one promise each. */
import { expect, test } from "vitest";
import { proveFileStates, type Weakness, whyNoDiskShim } from "../packages/testkit/src/faults/door.ts";
import { findBundles } from "../packages/testkit/src/proofs/door.ts";

const missing = whyNoDiskShim();
const report = () => undefined;
const randomSeed = () => Math.floor(Math.random() * 2 ** 31);

test("INV-2 whatever of the unsynced writes a power cut leaves, all that was acknowledged is there and nothing is invented", {
  timeout: 600_000,
}, async ({ skip }) => {
  skip(missing !== undefined, missing);
  const seed = randomSeed();
  const bundles = findBundles("shipped");
  const { findings } = await proveFileStates({ seed, bundles, states: 300, liveStarts: 2, report });
  expect(findings, `seed ${seed}`).toEqual([]);
});

const weaknesses: readonly Weakness[] = [
  "normal sync",
  "early acknowledgement",
  "rename without sync",
  "no sync",
];

test.for(weaknesses)("a host with %s is found out", { timeout: 600_000 }, async (weakness, { skip }) => {
  skip(missing !== undefined, missing);
  const seed = randomSeed();
  const bundles = findBundles("shipped");
  const { findings } = await proveFileStates({
    ...{ seed, bundles, weakness, report },
    states: 600,
    liveStarts: 0,
    enoughFindings: 1,
  });
  expect(findings, `seed ${seed}: the check is blind`).not.toEqual([]);
});
