import { expect, test } from "vitest";
import { findBundles, proveStream } from "../packages/testkit/src/proofs/door.ts";

test("a client that is cut anywhere, also by a restart, has each committed event once", {
  timeout: 180_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await proveStream({
    bundles: findBundles("shipped"),
    seed,
    byteCuts: 20,
    frameStride: 4,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});
