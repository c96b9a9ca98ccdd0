import { expect, test } from "vitest";
import { findBundles, runFuzz } from "../packages/testkit/src/proofs/door.ts";

test("malformed requests and frames crash nothing, get no 500 and leave no memory behind", {
  timeout: 240_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await runFuzz({
    bundles: findBundles("shipped"),
    seed,
    requests: 3_000,
    perTargetMin: 30,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});

test("malformed requests and frames at the daemon's other ports crash nothing and leave no memory behind", {
  timeout: 400_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await runFuzz({
    bundles: findBundles("shipped"),
    seed,
    requests: 2_000,
    perTargetMin: 30,
    servers: ["terminals", "e2b"],
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});
