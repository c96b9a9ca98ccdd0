/**
 * One run of the kill sweep: clients at work, a number of kills of one kind, a quiet end, and the checker's verdict.
 *
 * Kinds: `random` takes the host down at random moments (some in the middle of its boot); `failpoints` lets a test
 * build die at named places; `daemon` takes the daemon down while a command runs, now and then with the host.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { StartedProcess } from "../processes/child-process.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { waitUntil } from "../wait-until.ts";
import type { KillRecord } from "./kill-record.ts";
import { checkSweep, countFindings, type SweepVerdict } from "./sweep-checker.ts";
import { keepWorld, openSweepStage, type SweepStage } from "./sweep-stage.ts";

export interface FailpointHit {
  readonly name: string;
  readonly hit: number;
}

export type SweepKind =
  | { readonly kind: "random"; readonly kills: number }
  | {
      readonly kind: "failpoints";
      readonly points: readonly FailpointHit[];
      readonly side: "host" | "daemon" | "keeper";
    }
  | { readonly kind: "daemon"; readonly kills: number };

export interface SweepRunOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  readonly sweep: SweepKind;
  readonly hasLedger: boolean;
  /** where a failed world is kept; left out it is removed like any other */
  readonly keepFailedIn?: string;
}

export interface SweepRun {
  readonly seed: number;
  readonly kind: SweepKind["kind"];
  readonly kills: readonly KillRecord[];
  /** failpoints that weren't reached in their time */
  readonly missed: readonly FailpointHit[];
  readonly prompts: number;
  readonly turns: number;
  readonly modelCalls: number;
  readonly effects: number;
  readonly findings: number;
  readonly verdict: SweepVerdict;
  readonly tookMs: number;
}

const agents = 4;
/** more than clients can send in one run, so that they never run dry before the last kill */
const promptsPerAgentAndKill = 4;
/** a failpoint that isn't reached in this time is missed */
const failpointDeadlineMs = 20_000;
const runningDeadlineMs = 3_000;
const bootKillChance = 0.12;

export async function runSweep(options: SweepRunOptions): Promise<SweepRun> {
  const startedMs = Date.now();
  const planned = options.sweep.kind === "failpoints" ? options.sweep.points.length : options.sweep.kills;
  await using stage = await openSweepStage({
    seed: options.seed,
    bundles: options.bundles,
    hasLedger: options.hasLedger,
    mayBeUnknown: options.sweep.kind === "failpoints" && options.sweep.side === "keeper",
    agents,
    promptsPerAgent: 10 + planned * promptsPerAgentAndKill,
  });
  await stage.raiseDaemon();
  const missed = await performKills(stage, options.sweep);
  const evidence = await stage.finish();
  const verdict = checkSweep(evidence);
  const findings = countFindings(verdict);
  if (findings > 0 && options.keepFailedIn !== undefined)
    keepWorld(stage.world, join(options.keepFailedIn, `${options.sweep.kind}-${options.seed}`), evidence);
  return {
    seed: options.seed,
    kind: options.sweep.kind,
    kills: stage.kills,
    missed,
    prompts: evidence.accepted.length,
    turns: evidence.agents.reduce((sum, agent) => sum + agent.turns.length, 0),
    modelCalls: evidence.modelCalls.length,
    effects: Object.keys(evidence.effects).length,
    findings,
    verdict,
    tookMs: Date.now() - startedMs,
  };
}

async function performKills(stage: SweepStage, sweep: SweepKind): Promise<readonly FailpointHit[]> {
  switch (sweep.kind) {
    case "random":
      await killAtRandom(stage, sweep.kills);
      return [];
    case "daemon":
      await killDaemons(stage, sweep.kills);
      return [];
    case "failpoints":
      return await dieAt[sweep.side](stage, sweep.points);
  }
}

const dieAt = { host: dieAtPoints, daemon: dieInDaemon, keeper: dieInKeepers } as const;

async function killAtRandom(stage: SweepStage, count: number): Promise<void> {
  const { random, world } = stage;
  while (stage.kills.length < count) {
    if (stage.kills.length > 0 && random.chance(bootKillChance)) {
      const host = world.spawnHost();
      await delay(random.whole(20, 900));
      stage.forgetHost();
      await host.end();
      stage.noteDeath({ at: "boot", shownRunning: null });
      continue;
    }
    await raiseReady(stage);
    await delay(random.whole(10, 1_200));
    // A real load has pauses too, so one kill in twelve takes what it finds.
    if (!random.chance(0.08)) await waitForWork(stage);
    await stage.killHost("random");
  }
}

async function raiseReady(stage: SweepStage): Promise<StartedProcess> {
  const host = await stage.raiseHost();
  if (host.exit() !== undefined) throw new Error(`the host ended at its start:\n${await host.output()}`);
  return host;
}

/** Best effort: where nothing runs within the time, the kill counts as one without an open turn. */
async function waitForWork(stage: SweepStage): Promise<void> {
  await waitUntil("a turn to be open", async () => ((await stage.countRunning()) ?? 0) > 0, {
    deadlineMs: runningDeadlineMs,
  }).catch(() => undefined);
}

async function dieAtPoints(
  stage: SweepStage,
  points: readonly FailpointHit[],
): Promise<readonly FailpointHit[]> {
  const missed: FailpointHit[] = [];
  for (const point of points) {
    const host = await stage.raiseHost({ env: { SAND_FAILPOINT: `${point.name}:${point.hit}` } });
    const died = await endsWithin(host, failpointDeadlineMs);
    if (!died) missed.push(point);
    stage.forgetHost();
    await host.end();
    stage.noteDeath({ at: died ? point.name : "not reached", shownRunning: null });
  }
  return missed;
}

async function dieInDaemon(
  stage: SweepStage,
  points: readonly FailpointHit[],
): Promise<readonly FailpointHit[]> {
  const missed: FailpointHit[] = [];
  await raiseReady(stage);
  for (const point of points) {
    await stage.daemon().end();
    await stage.raiseDaemon({ env: { SAND_FAILPOINT: `${point.name}:${point.hit}` } });
    const died = await endsWithin(stage.daemon(), failpointDeadlineMs);
    if (!died) missed.push(point);
    await stage.daemon().end();
    stage.noteDeath({
      at: died ? point.name : "not reached",
      shownRunning: await stage.countRunning(),
      openTurns: ["tool running"],
    });
  }
  await stage.raiseDaemon();
  return missed;
}

/** True when the process died by itself; the signal tells a failpoint from a crash. */
async function endsWithin(process: StartedProcess, deadlineMs: number): Promise<boolean> {
  const exit = await waitUntil("the process to end", () => process.exit(), { deadlineMs }).catch(
    () => undefined,
  );
  if (exit !== undefined && exit.signal !== "SIGKILL")
    throw new Error(`the ${process.name} ended as ${JSON.stringify(exit)}:\n${await process.output()}`);
  return exit !== undefined;
}

/** Keepers die without anybody's hand on them, so a hit is a command that was begun and ended under an armed one. */
async function dieInKeepers(
  stage: SweepStage,
  points: readonly FailpointHit[],
): Promise<readonly FailpointHit[]> {
  const missed: FailpointHit[] = [];
  await raiseReady(stage);
  for (const point of points) {
    await stage.daemon().end();
    const before = new Set(listExecutions(stage, "exit.json"));
    await stage.raiseDaemon({ env: { SAND_FAILPOINT: `${point.name}:1` } });
    const isNew = () => listExecutions(stage, "exit.json").some((id) => !before.has(id));
    const hit = await waitUntil("a keeper to die", isNew, { deadlineMs: failpointDeadlineMs }).catch(
      () => false,
    );
    if (!hit) missed.push(point);
    stage.noteDeath({
      at: hit ? point.name : "not reached",
      shownRunning: await stage.countRunning(),
      openTurns: ["tool running"],
    });
  }
  await stage.daemon().end();
  await stage.raiseDaemon();
  return missed;
}

async function killDaemons(stage: SweepStage, count: number): Promise<void> {
  const { random } = stage;
  await raiseReady(stage);
  for (let kill = 0; kill < count; kill += 1) {
    await waitUntil("a command to run", () => hasRunningCommand(stage), { deadlineMs: failpointDeadlineMs });
    await delay(random.whole(0, 150));
    const takesHostToo = random.chance(0.25);
    await stage.daemon().end();
    if (takesHostToo) await stage.killHost("daemon and host");
    else
      stage.noteDeath({
        at: "daemon",
        shownRunning: await stage.countRunning(),
        openTurns: ["tool running"],
      });
    await delay(random.whole(0, 500));
    await stage.raiseDaemon();
    if (takesHostToo) await raiseReady(stage);
    await delay(random.whole(50, 800));
  }
}

function hasRunningCommand(stage: SweepStage): boolean {
  const ended = new Set(listExecutions(stage, "exit.json"));
  return listExecutions(stage, "start.json").some((id) => !ended.has(id));
}

/** The executions whose folder holds this record. */
function listExecutions(stage: SweepStage, record: string): readonly string[] {
  const folder = join(stage.world.dataRoot, "executions");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((id) => existsSync(join(folder, id, record)));
}
