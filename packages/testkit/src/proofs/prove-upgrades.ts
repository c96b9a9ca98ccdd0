/**
 * Upgrades as a proof: the shipped host replaced again and again under load; deaths of either process at each place in
 * the middle of it; and two negative controls that must fail: a replacement that ignores markers, and one that takes no
 * lock.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { findBundles } from "../processes/sand-bundles.ts";
import { createWorld } from "../processes/sand-world.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { runUpgrades, type UpgradeDeath, type UpgradeRun } from "../upgrades/run-upgrades.ts";
import { watchWriters } from "../upgrades/watch-writers.ts";
import { collectFindings, type Findings, type ProofResult } from "./proof-result.ts";
import { digestBundles, openProofState } from "./proof-state.ts";

export interface UpgradeProofOptions {
  readonly seed: number;
  readonly upgrades: number;
  /** places in the middle of an upgrade where a process is to die, once each */
  readonly deaths: readonly UpgradeDeath[];
  readonly withControls: boolean;
  /** where results are kept between starts */
  readonly stateFile?: string;
  readonly report: (line: string) => void;
}

const upgradesPerRun = 10;
const openTurnShareMin = 0.7;

/** every place where an upgrade may be cut off; a test compares them with the sources */
export const upgradeDeaths: readonly UpgradeDeath[] = [
  { side: "old", failpoint: "upgrade.held" },
  { side: "old", failpoint: "upgrade.marked" },
  { side: "old", failpoint: "upgrade.prepared" },
  { side: "old", failpoint: "upgrade.released" },
  { side: "new", failpoint: "upgrade.waiting" },
  { side: "new", failpoint: "upgrade.asked" },
  { side: "new", failpoint: "upgrade.locked" },
];

export async function proveUpgrades(options: UpgradeProofOptions): Promise<ProofResult> {
  const findings = collectFindings();
  const state = openProofState(options.stateFile, digestBundles(findBundles("shipped"), findBundles("test")));
  const random = createSeededRandom(options.seed);
  const perform = async (name: string, more: Omit<Parameters<typeof runUpgrades>[0], "seed">) => {
    const seed = random.fork(name).whole(1, 2 ** 31);
    const run = await state.once(`${options.seed}/${name}`, () =>
      runUpgrades({ ...more, seed, report: options.report }),
    );
    options.report(
      `${name}: seed ${seed}, ${run.upgrades} upgrades, ${run.withOpenTurn} with an open turn, ${run.prompts} prompts, ` +
        `${run.markers.left.length} markers, ${run.findings.length} findings, ${Math.round(run.tookMs / 1000)} s`,
    );
    return run;
  };
  const runs: UpgradeRun[] = [];
  for (let done = 0; done < options.upgrades; done += upgradesPerRun) {
    const upgrades = Math.min(upgradesPerRun, options.upgrades - done);
    const name = `upgrades from ${done}`;
    const run = await perform(name, { bundles: findBundles("shipped"), upgrades });
    for (const finding of run.findings) findings.expect(false, `${name}: ${finding}`);
    runs.push(run);
  }
  const died: string[] = [];
  const { deaths } = options;
  if (deaths.length > 0) {
    const run = await perform("deaths", { bundles: findBundles("test"), upgrades: 1, deaths });
    for (const finding of run.findings) findings.expect(false, `deaths: ${finding}`);
    died.push(...run.died);
  }
  const controls = options.withControls ? await runControls(findings, perform) : "not asked for";
  const figures = figuresOf(options.seed, runs);
  if (options.upgrades > upgradesPerRun)
    findings.expect(
      figures.withOpenTurn >= openTurnShareMin * options.upgrades,
      `only ${figures.withOpenTurn} of ${options.upgrades} upgrades met an open turn`,
    );
  return { figures: { ...figures, died: died.join(", "), controls }, findings: findings.list };
}

type Perform = (name: string, more: Omit<Parameters<typeof runUpgrades>[0], "seed">) => Promise<UpgradeRun>;

async function runControls(findings: Findings, perform: Perform): Promise<string> {
  const blind = await perform("control without markers", {
    ...{ bundles: findBundles("test"), upgrades: 4, leavesOut: "upgrade.markers" },
  });
  const ignored = blind.findings.filter((finding) => /marker|as after a crash/u.test(finding)).length;
  findings.expect(ignored > 0, "a replacement that ignores markers isn't noticed");
  const { seen, refused } = await startWithoutLock();
  findings.expect(seen > 0, "two writers wouldn't be seen");
  findings.expect(refused > 0, "a replacement that takes no lock isn't noticed");
  return `${ignored} findings without markers; two writers seen ${seen} times; without the lock noticed ${refused} times`;
}

/**
 * First this process opens the index beside the host, and the watch must see that. Then a replacement without the lock
 * comes up: either the watch sees it, or the databases themselves don't let it in.
 */
async function startWithoutLock(): Promise<{ readonly seen: number; readonly refused: number }> {
  await using world = await createWorld({ label: "no-lock", bundles: findBundles("test"), sandbox: "off" });
  const old = await world.startHost();
  const descriptor = openSync(join(world.dataRoot, "host.db"), "r");
  const seen = watchWriters(world.dataRoot, [old.process.pid, process.pid]).stop().both;
  closeSync(descriptor);
  const next = world.spawnHost({ env: { SAND_FAILPOINT: "upgrade.lock:1" }, args: ["--take-over"] });
  const watch = watchWriters(world.dataRoot, [old.process.pid, next.pid]);
  const start = await world.awaitHost(next);
  const { both } = watch.stop();
  return { seen, refused: both + (start.kind === "died" ? 1 : 0) };
}

function figuresOf(seed: number, runs: readonly UpgradeRun[]) {
  const sum = (pick: (run: UpgradeRun) => number) => runs.reduce((total, run) => total + pick(run), 0);
  return {
    seed,
    upgrades: sum((run) => run.upgrades),
    withOpenTurn: sum((run) => run.withOpenTurn),
    preparedByRequest: sum((run) => run.prepared),
    prompts: sum((run) => run.prompts),
    turns: sum((run) => run.turns),
    effects: sum((run) => run.effects),
    markersLeft: sum((run) => run.markers.left.length),
    markersUsed: sum((run) => run.markers.used.length),
    markersSettled: sum((run) => run.markers.settled.length),
    looksForTwoWriters: sum((run) => run.looks),
  };
}
