import { expect, test } from "vitest";
import { findBundles, proveParallelExits } from "../packages/testkit/src/proofs/door.ts";

test("many short runs at once have the right exit codes and leave nothing behind", {
  timeout: 400_000,
}, async () => {
  const { figures, findings } = await proveParallelExits({ bundles: findBundles("shipped"), runs: 150 });
  expect(findings).toEqual([]);
  expect(figures).toMatchObject({ rightCodes: 150, wrong: 0, zombies: 0 });
});
