/**
 * One run of upgrades under load: clients at work, and the host of the moment replaced again and again by a process that
 * overlaps with it. Now and then the upgrade is prepared by a request first, and a plain start follows up.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { checkSweep } from "../sweep/sweep-checker.ts";
import { openSweepStage, type SweepStage } from "../sweep/sweep-stage.ts";
import { waitUntil } from "../wait-until.ts";
import { judgeMarkers, type MarkerFacts, readMarkers } from "./read-markers.ts";
import { watchWriters } from "./watch-writers.ts";

/** the old or the new process dies at this place in the middle of an upgrade */
export interface UpgradeDeath {
  readonly side: "old" | "new";
  readonly failpoint: string;
}

export interface UpgradeRunOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  readonly upgrades: number;
  /** one upgrade for each, after the others; only in test builds */
  readonly deaths?: readonly UpgradeDeath[];
  /** what every replacement leaves out: a negative control of a test build */
  readonly leavesOut?: "upgrade.markers";
  readonly report?: (line: string) => void;
}

export interface UpgradeRun {
  readonly upgrades: number;
  /** of them, with a turn open when it began */
  readonly withOpenTurn: number;
  readonly prepared: number;
  readonly looks: number;
  readonly prompts: number;
  readonly turns: number;
  readonly effects: number;
  readonly markers: MarkerFacts;
  /** places where a process died */
  readonly died: readonly string[];
  readonly findings: readonly string[];
  readonly tookMs: number;
}

const agents = 4;
const promptsPerAgentAndUpgrade = 4;
const workDeadlineMs = 3_000;
const exitDeadlineMs = 60_000;
/** turns stand still during each of many upgrades, and a busy machine takes its time for every one of them */
const idleDeadlineMs = 600_000;
const preparedChance = 0.3;
/** a shutdown that took too long on a busy machine: as good as a kill, and no fault of the upgrade's */
const lateExit = 75;

export async function runUpgrades(options: UpgradeRunOptions): Promise<UpgradeRun> {
  const startedMs = Date.now();
  const deaths = options.deaths ?? [];
  await using stage = await openSweepStage({
    ...{ seed: options.seed, bundles: options.bundles, hasLedger: true, mayBeUnknown: false, agents },
    idleDeadlineMs,
    promptsPerAgent: 10 + (options.upgrades + deaths.length) * promptsPerAgentAndUpgrade,
  });
  await stage.raiseDaemon();
  const walk: Walk = { stage, host: await stage.raiseHost(), findings: [], died: [], ...noCounts() };
  const report = options.report ?? (() => undefined);
  const since = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  for (let at = 0; at < options.upgrades; at += 1) {
    await upgradeOnce(walk, options.leavesOut);
    report(`  upgrade ${at + 1} at ${since()}`);
  }
  for (const death of deaths) {
    await dieInUpgrade(walk, death);
    report(`  death at ${death.failpoint} at ${since()}`);
  }
  const evidence = await stage.finish();
  const markers = readMarkers(stage.world.dataRoot);
  const verdict = Object.entries(checkSweep(evidence)).flatMap(([rule, list]) =>
    list.map((finding) => `${rule}: ${finding}`),
  );
  return {
    upgrades: walk.upgrades,
    withOpenTurn: walk.withOpenTurn,
    prepared: walk.prepared,
    looks: walk.looks,
    prompts: evidence.accepted.length,
    turns: evidence.agents.reduce((sum, agent) => sum + agent.turns.length, 0),
    effects: Object.keys(evidence.effects).length,
    markers,
    died: walk.died,
    findings: [...walk.findings, ...verdict, ...judgeMarkers(markers, deaths.length > 0)],
    tookMs: Date.now() - startedMs,
  };
}

interface Counts {
  upgrades: number;
  withOpenTurn: number;
  prepared: number;
  looks: number;
}

interface Walk extends Counts {
  readonly stage: SweepStage;
  host: StartedProcess;
  readonly findings: string[];
  readonly died: string[];
}

function noCounts(): Counts {
  return { upgrades: 0, withOpenTurn: 0, prepared: 0, looks: 0 };
}

async function waitForWork({ stage }: Walk): Promise<void> {
  await delay(stage.random.whole(10, 900));
  // A real load has pauses too, so one upgrade in twelve takes what it finds.
  if (stage.random.chance(0.08)) return;
  await waitUntil("a turn to be open", async () => ((await stage.countRunning()) ?? 0) > 0, {
    deadlineMs: workDeadlineMs,
  }).catch(() => undefined);
}

async function upgradeOnce(walk: Walk, leavesOut: UpgradeRunOptions["leavesOut"]): Promise<void> {
  const { stage, host: old } = walk;
  await waitForWork(walk);
  if (((await stage.countRunning()) ?? 0) > 0) walk.withOpenTurn += 1;
  const isPrepared = stage.random.chance(preparedChance);
  if (isPrepared) {
    walk.prepared += 1;
    await prepare(walk);
    // Prompts of this time are accepted by the host that goes, and run by the one that comes.
    await delay(stage.random.whole(0, 400));
  }
  const env = leavesOut === undefined ? {} : { SAND_FAILPOINT: `${leavesOut}:1` };
  const next = await replace(walk, { env, args: isPrepared ? [] : ["--take-over"] });
  if (next.exit() !== undefined)
    throw new Error(`the replacement ended at its start:\n${await next.output()}`);
  const exit = await waitUntil("the old host to end", () => old.exit(), { deadlineMs: exitDeadlineMs });
  if (exit.code !== 0 && exit.code !== lateExit)
    walk.findings.push(`the old host ended as ${JSON.stringify(exit)}`);
  walk.upgrades += 1;
}

/** Starts the replacement beside the host of the moment, and watches the two until it answers or has ended. */
async function replace(
  walk: Walk,
  extras: { readonly env: Readonly<Record<string, string>>; readonly args: readonly string[] },
): Promise<StartedProcess> {
  const { stage, host: old } = walk;
  let watch: ReturnType<typeof watchWriters> | undefined;
  const next = await stage.raiseHost({
    ...extras,
    onSpawn: (pid) => {
      watch = watchWriters(stage.world.dataRoot, [old.pid, pid]);
    },
  });
  const seen = watch?.stop() ?? { looks: 0, both: 0 };
  walk.looks += seen.looks;
  if (seen.both > 0) walk.findings.push(`two hosts had the databases open at once, seen ${seen.both} times`);
  if (next.exit() === undefined) walk.host = next;
  return next;
}

/** As a supervisor does: asks until nothing quiesces any more. */
async function prepare({ stage, findings }: Walk): Promise<void> {
  const access = stage.access();
  await waitUntil(
    "the host to be prepared",
    async () => {
      const response = await fetch(`${access.url}/prepare-upgrade`, {
        method: "POST",
        headers: { authorization: `Bearer ${access.token}` },
      });
      const answer: unknown = await response.json();
      if (response.status !== 200) findings.push(`/prepare-upgrade answered ${response.status}`);
      return JSON.stringify(answer).includes('"quiescing":false');
    },
    { deadlineMs: exitDeadlineMs, everyMs: 50 },
  );
}

/** One upgrade in whose middle one of the two dies; whoever is left, or the next start, goes on. */
async function dieInUpgrade(walk: Walk, death: UpgradeDeath): Promise<void> {
  const armed = { SAND_FAILPOINT: `${death.failpoint}:1` };
  if (death.side === "old") await replace(walk, { env: armed, args: ["--take-over"] });
  await waitForWork(walk);
  const old = walk.host;
  const next = await replace(walk, { env: death.side === "new" ? armed : {}, args: ["--take-over"] });
  const dying = death.side === "old" ? old : next;
  const exit = await waitUntil(`a death at ${death.failpoint}`, () => dying.exit(), {
    deadlineMs: exitDeadlineMs,
  }).catch(() => undefined);
  if (exit?.signal === "SIGKILL") walk.died.push(death.failpoint);
  else walk.findings.push(`${death.failpoint} was not reached: ${JSON.stringify(exit ?? "still running")}`);
  if (next.exit() === undefined) return;
  // The old one may run on, be prepared, or be on its way out: a replacement that is told to deals with each.
  const again = await replace(walk, { env: {}, args: ["--take-over"] });
  if (again.exit() !== undefined)
    throw new Error(`no replacement after ${death.failpoint}:\n${await again.output()}`);
}
