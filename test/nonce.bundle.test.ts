import { expect, test } from "vitest";
import { findBundles, proveNonce } from "../packages/testkit/src/proofs/door.ts";

test("200 identical posts make one turn and one model call, another payload conflicts, and what was accepted is found", {
  timeout: 180_000,
}, async () => {
  const { findings } = await proveNonce({ bundles: findBundles("shipped"), posts: 200, kills: 4 });
  expect(findings).toEqual([]);
});
