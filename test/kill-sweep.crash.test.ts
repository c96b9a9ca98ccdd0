/** A small sample of the kill sweep; `.ci/run` makes forty kills, `pnpm proof 2` all. */
import { expect, test } from "vitest";
import { proveKillSweep } from "../packages/testkit/src/proofs/door.ts";

test("work goes on over kills of host and daemon: nothing is lost, nothing is done twice", {
  timeout: 300_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await proveKillSweep({
    seed,
    randomKills: 5,
    hitsPerFailpoint: 1,
    failpointSample: 5,
    daemonKills: 3,
    withControl: false,
    report: () => undefined,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});

test("without the ledger the checker finds commands that were run twice", { timeout: 600_000 }, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { findings } = await proveKillSweep({
    seed,
    randomKills: 0,
    hitsPerFailpoint: 0,
    daemonKills: 0,
    withControl: true,
    report: () => undefined,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});
