/** A sample of the upgrades under load, with deaths in their middle and the controls; `pnpm proof 5` has them in full. */
import { expect, test } from "vitest";
import { proveUpgrades, upgradeDeaths } from "../packages/testkit/src/proofs/door.ts";

test("hosts are replaced under load: nothing is lost, nothing is done twice, each marker is used up once", {
  timeout: 600_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const oneOfEach = (["old", "new"] as const).flatMap((side) => {
    const places = upgradeDeaths.filter((death) => death.side === side);
    return places[seed % places.length] ?? [];
  });
  const { findings } = await proveUpgrades({
    ...{ seed, upgrades: 5, deaths: oneOfEach, withControls: true },
    report: () => undefined,
  });
  expect(findings, `seed ${seed}`).toEqual([]);
});
