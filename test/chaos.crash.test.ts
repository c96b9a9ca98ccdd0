import { expect, test } from "vitest";
import { findBundles, proveChaos } from "../packages/testkit/src/proofs/door.ts";

test("clients at random and a daemon that is killed again and again leave right outcomes and nothing else", {
  timeout: 600_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const bundles = findBundles("shipped");
  const { figures, findings } = await proveChaos({ bundles, seed, seconds: 15, withControl: true });
  expect(findings, `seed ${seed}`).toEqual([]);
  expect(figures).toMatchObject({ "wrong outcomes": 0, leftProcesses: 0, zombies: 0 });
});
