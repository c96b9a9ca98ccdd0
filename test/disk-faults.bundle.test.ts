/** A sample of failing calls to the disk; `pnpm proof 5` fails each one there is. */
import { expect, test } from "vitest";
import { proveDiskFaults, whyNoDiskShim } from "../packages/testkit/src/faults/door.ts";
import { findBundles } from "../packages/testkit/src/proofs/door.ts";

const missing = whyNoDiskShim();

test("a full, broken or read-only disk gives a clear error, nothing is acknowledged that isn't durable, and work goes on by itself", {
  timeout: 900_000,
}, async ({ skip }) => {
  skip(missing !== undefined, missing);
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await proveDiskFaults({
    ...{ seed, bundles: findBundles("shipped"), report: () => undefined },
    sample: 16,
    statesAfter: 40,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});
