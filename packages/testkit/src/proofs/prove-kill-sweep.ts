/**
 * The kill sweep as a proof: named failpoints in test builds, random kills of what is shipped, kills of the daemon
 * while a command runs, and the negative control without a ledger, which must fail.
 *
 * It is cut into runs of a few kills, each with a world and a seed of its own, so that it can be stopped and resumed.
 */
import { findBundles } from "../processes/sand-bundles.ts";
import { createSeededRandom, type SeededRandom } from "../seeded-random.ts";
import { daemonFailpoints, hostFailpoints, keeperFailpoints } from "../sweep/failpoint-names.ts";
import { formatHistogram, type KillHistogram, type KillRecord, tallyKills } from "../sweep/kill-record.ts";
import { type FailpointHit, runSweep, type SweepKind, type SweepRun } from "../sweep/run-sweep.ts";
import { collectFindings, type Findings, type ProofResult } from "./proof-result.ts";
import { digestBundles, openProofState, type ProofState } from "./proof-state.ts";

export interface KillSweepOptions {
  readonly seed: number;
  readonly randomKills: number;
  /** how often each failpoint must be hit; 0 leaves them out */
  readonly hitsPerFailpoint: number;
  /** only this many hits in all, for a sample; every failpoint when left out */
  readonly failpointSample?: number;
  readonly daemonKills: number;
  readonly withControl: boolean;
  /** where results are kept between starts */
  readonly stateFile?: string;
  readonly keepFailedIn?: string;
  readonly report: (line: string) => void;
}

export interface KillSweepResult extends ProofResult {
  readonly histogram: KillHistogram;
  readonly hits: Readonly<Record<string, number>>;
}

const killsPerRun = 10;
const controlRunsMax = 10;
/** starts of the sweep that a failpoint gets to be hit often enough */
const failpointRoundsMax = 4;
const openTurnShareMin = 0.8;

export async function proveKillSweep(options: KillSweepOptions): Promise<KillSweepResult> {
  const sweep = prepare(options);
  await sweepRandom(sweep);
  await sweepDaemon(sweep);
  const hits = await sweepFailpoints(sweep);
  if (options.withControl) await sweepControl(sweep);
  const histogram = tallyKills(sweep.kills);
  const share = histogram.kills === 0 ? 1 : histogram.withOpenTurn / histogram.kills;
  sweep.findings.expect(
    share >= openTurnShareMin,
    `only ${Math.round(100 * share)} % of the kills met an open turn`,
  );
  options.report(formatHistogram(histogram));
  return { figures: figuresOf(sweep, histogram), findings: sweep.findings.list, histogram, hits };
}

interface Sweep {
  readonly options: KillSweepOptions;
  readonly state: ProofState;
  readonly findings: Findings;
  readonly kills: KillRecord[];
  readonly runs: SweepRun[];
  control: string;
}

function prepare(options: KillSweepOptions): Sweep {
  const code = digestBundles(findBundles("shipped"), findBundles("test"));
  return {
    options,
    state: openProofState(options.stateFile, code),
    findings: collectFindings(),
    kills: [],
    runs: [],
    control: "not asked for",
  };
}

interface RunSpec {
  readonly name: string;
  readonly build: "shipped" | "test";
  readonly sweep: SweepKind;
  readonly hasLedger: boolean;
}

async function perform(sweep: Sweep, spec: RunSpec): Promise<SweepRun> {
  const { options } = sweep;
  const seed = createSeededRandom(options.seed)
    .fork(spec.name)
    .whole(1, 2 ** 31);
  const run = await sweep.state.once(`${options.seed}/${spec.name}`, () =>
    runSweep({
      seed,
      bundles: findBundles(spec.build),
      sweep: spec.sweep,
      hasLedger: spec.hasLedger,
      ...(options.keepFailedIn === undefined || !spec.hasLedger
        ? {}
        : { keepFailedIn: options.keepFailedIn }),
    }),
  );
  const took = Math.round(run.tookMs / 1000);
  options.report(
    `${spec.name}: seed ${seed}, ${run.kills.length} kills, ${run.prompts} prompts, ${run.modelCalls} model calls, ` +
      `${run.effects} effects, ${run.findings} findings, ${took} s`,
  );
  return run;
}

/** Enters a run whose findings count. */
function enter(sweep: Sweep, name: string, run: SweepRun): void {
  sweep.kills.push(...run.kills);
  sweep.runs.push(run);
  for (const [rule, findings] of Object.entries(run.verdict)) {
    for (const finding of findings) {
      sweep.findings.expect(false, `${name}: ${rule}: ${finding}`);
      sweep.options.report(`  ${rule}: ${finding}`);
    }
  }
}

async function sweepRandom(sweep: Sweep): Promise<void> {
  await inRuns(sweep, sweep.options.randomKills, (kills, at) => ({
    name: `random ${at} of ${kills}`,
    build: "shipped",
    sweep: { kind: "random", kills },
    hasLedger: true,
  }));
}

async function sweepDaemon(sweep: Sweep): Promise<void> {
  await inRuns(sweep, sweep.options.daemonKills, (kills, at) => ({
    name: `daemon ${at} of ${kills}`,
    build: "shipped",
    sweep: { kind: "daemon", kills },
    hasLedger: true,
  }));
}

async function inRuns(
  sweep: Sweep,
  kills: number,
  specOf: (kills: number, at: number) => RunSpec,
): Promise<void> {
  for (let done = 0, at = 1; done < kills; done += killsPerRun, at += 1) {
    const spec = specOf(Math.min(killsPerRun, kills - done), at);
    enter(sweep, spec.name, await perform(sweep, spec));
  }
}

const pointsOf = { host: hostFailpoints, daemon: daemonFailpoints, keeper: keeperFailpoints } as const;
type Side = keyof typeof pointsOf;

/** Every failpoint as often as asked for; one that was missed gets another chance at its first hit. */
async function sweepFailpoints(sweep: Sweep): Promise<Record<string, number>> {
  const { options } = sweep;
  const hits: Record<string, number> = {};
  for (const name of Object.values(pointsOf).flat()) hits[name] = 0;
  const random = createSeededRandom(options.seed).fork("failpoints");
  for (let round = 1; round <= failpointRoundsMax; round += 1) {
    for (const side of ["host", "daemon", "keeper"] as const) {
      const points = planPoints(sweep, hits, { side, round, random: random.fork(`${side} ${round}`) });
      for (let from = 0; from < points.length; from += killsPerRun) {
        const name = `${side} failpoints ${round}.${from / killsPerRun + 1} of ${points.length}`;
        const part = points.slice(from, from + killsPerRun);
        const kind: SweepKind = { kind: "failpoints", points: part, side };
        const run = await perform(sweep, { name, build: "test", sweep: kind, hasLedger: true });
        enter(sweep, name, run);
        for (const kill of run.kills) if (kill.at in hits) hits[kill.at] = (hits[kill.at] ?? 0) + 1;
      }
    }
    if (options.failpointSample !== undefined) return hits;
  }
  for (const [name, count] of Object.entries(hits)) {
    sweep.findings.expect(count >= options.hitsPerFailpoint, `failpoint ${name} was hit ${count} times`);
  }
  return hits;
}

interface PointsToPlan {
  readonly side: Side;
  readonly round: number;
  readonly random: SeededRandom;
}

function planPoints(
  sweep: Sweep,
  hits: Readonly<Record<string, number>>,
  { side, round, random }: PointsToPlan,
): readonly FailpointHit[] {
  const { hitsPerFailpoint, failpointSample } = sweep.options;
  const wanted = pointsOf[side].flatMap((name) =>
    Array.from(
      { length: Math.max(0, hitsPerFailpoint - (hits[name] ?? 0)) },
      (_, at): FailpointHit => ({
        name,
        hit: round > 1 || at === 0 ? 1 : random.whole(2, 6),
      }),
    ),
  );
  // A sample is shared out: most failpoints are the host's.
  const share = { host: 0.6, daemon: 0.3, keeper: 0.1 } as const;
  const most = failpointSample === undefined ? wanted.length : Math.round(failpointSample * share[side]);
  return shuffle(random, wanted).slice(0, most);
}

function shuffle<T>(random: SeededRandom, items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

/** Without a ledger a killed host runs its commands again: a checker that doesn't see it is blind. */
/** Whether a kill falls between a command's start and its record is chance, so a few runs may be needed to see one. */
async function sweepControl(sweep: Sweep): Promise<void> {
  let doubled = 0;
  let findings = 0;
  for (let run = 1; run <= controlRunsMax && doubled === 0; run += 1) {
    const { verdict, findings: found } = await perform(sweep, {
      name: run === 1 ? "control without a ledger" : `control without a ledger ${run}`,
      build: "shipped",
      sweep: { kind: "random", kills: killsPerRun },
      hasLedger: false,
    });
    doubled += verdict["doubled effects"].length;
    findings += found;
  }
  sweep.control = `${doubled} doubled effects, ${findings} findings in all`;
  sweep.findings.expect(doubled > 0, "without a ledger the checker finds no doubled effect: it is blind");
}

function figuresOf(sweep: Sweep, histogram: KillHistogram): ProofResult["figures"] {
  const sum = (pick: (run: SweepRun) => number) => sweep.runs.reduce((total, run) => total + pick(run), 0);
  return {
    seed: sweep.options.seed,
    kills: histogram.kills,
    killsWithOpenTurn: histogram.withOpenTurn,
    prompts: sum((run) => run.prompts),
    turns: sum((run) => run.turns),
    modelCalls: sum((run) => run.modelCalls),
    effects: sum((run) => run.effects),
    findings: sum((run) => run.findings),
    control: sweep.control,
  };
}
