/**
 * A disk that fails at every point: each kind of operation is tried with its first call to the disk failing, then its
 * second, and so on until one meets no fault; full, broken, read-only and over its quota, once and for as long as the
 * work takes. Each answer must be clear, nothing is acknowledged that isn't durable, and work goes on by itself.
 *
 * What was acknowledged is judged from the record of the calls, like power cuts are: a call that failed left nothing,
 * and after a failed sync nothing counts as written that wasn't written again.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { collectFindings, type Findings, type ProofResult } from "../proofs/proof-result.ts";
import { digestBundles, openProofState } from "../proofs/proof-state.ts";
import { createSeededRandom, type SeededRandom } from "../seeded-random.ts";
import { type AgentView, viewAgent } from "./agent-view.ts";
import { type DiskError, diskErrors, everyDiskCall, type Fault } from "./fault-control.ts";
import { type FaultOperation, faultOperations } from "./fault-operations.ts";
import { type FaultStage, openFaultStage } from "./fault-stage.ts";
import { judgeRecord } from "./prove-file-states.ts";
import { noncesOf, type RecordedRun } from "./record-run.ts";

export interface DiskFaultsOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  /** tries in all; every point of every operation when absent */
  readonly sample?: number;
  /** power cuts after each series */
  readonly statesAfter: number;
  readonly stateFile?: string;
  readonly report: (line: string) => void;
}

interface Series {
  readonly tries: number;
  readonly met: number;
  readonly points: number;
  readonly states: number;
  readonly findings: readonly string[];
}

interface SeriesPlan {
  readonly error: DiskError;
  readonly stays: boolean;
}

/** an operation with more calls than this is a finding: it would never end */
const pointsMax = 400;
const always = 2 ** 31;

export async function proveDiskFaults(options: DiskFaultsOptions): Promise<ProofResult> {
  const findings = collectFindings();
  const kept = openProofState(options.stateFile, digestBundles(options.bundles));
  const figures = { tries: 0, met: 0, points: 0, states: 0 };
  for (const plan of plans()) {
    const label = `${plan.error} ${plan.stays ? "for as long as it takes" : "once"}`;
    const series = await kept.once(`${options.seed}/${label}/${options.sample}`, () =>
      runSeries(options, plan),
    );
    for (const key of ["tries", "met", "points", "states"] as const) figures[key] += series[key];
    for (const finding of series.findings) findings.expect(false, `${label}: ${finding}`);
    options.report(
      `${label}: ${series.tries} tries, ${series.met} calls failed, ${series.states} states, ${series.findings.length} findings`,
    );
  }
  return { figures: { seed: options.seed, ...figures }, findings: findings.list };
}

function plans(): readonly SeriesPlan[] {
  const errors: readonly DiskError[] = ["ENOSPC", "EIO", "EROFS", "EDQUOT"];
  return errors
    .filter((error) => error in diskErrors)
    .flatMap((error) => [
      { error, stays: false },
      { error, stays: true },
    ]);
}

async function runSeries(options: DiskFaultsOptions, plan: SeriesPlan): Promise<Series> {
  const folder = mkdtempSync(join(tmpdir(), "sand-faults-"));
  const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "sand-states-"));
  const findings = collectFindings();
  const tally = { tries: 0, met: 0, points: 0 };
  const random = createSeededRandom(options.seed).fork(`${plan.error} ${plan.stays}`);
  try {
    await using stage = await openFaultStage({ bundles: options.bundles, folder });
    const sweep = { stage, plan, findings, tally, random };
    if (options.sample === undefined) await tryEveryPoint(sweep);
    else await trySome(sweep, Math.ceil(options.sample / plans().length));
    await stage.killHost();
    const run = await toRecordedRun(stage, join(folder, "truth"));
    const judged = await judgeRecord({
      run,
      scratch,
      wanted: options.statesAfter,
      random: random.fork("states"),
    });
    for (const finding of judged.findings) findings.expect(false, `a power cut ${finding}`);
    return { ...tally, states: judged.states, findings: findings.list };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Sweep {
  readonly stage: FaultStage;
  readonly plan: SeriesPlan;
  readonly findings: Findings;
  readonly tally: { tries: number; met: number; points: number };
  readonly random: SeededRandom;
}

async function tryEveryPoint(sweep: Sweep): Promise<void> {
  for (const operation of faultOperations) {
    let point = 0;
    while (point < pointsMax && (await tryAt(sweep, operation, point)) > 0) point += 1;
    sweep.findings.expect(point < pointsMax, `${operation} makes more than ${pointsMax} calls`);
    sweep.tally.points += point;
  }
}

async function trySome(sweep: Sweep, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await tryAt(sweep, sweep.random.pick(faultOperations), sweep.random.whole(0, 12));
    sweep.tally.points += 1;
  }
}

/** Returns the number of calls that failed. */
async function tryAt(sweep: Sweep, operation: FaultOperation, skip: number): Promise<number> {
  const { stage, plan, findings, tally, random } = sweep;
  const fault: Fault = {
    calls: everyDiskCall,
    error: plan.error,
    skip,
    times: plan.stays ? always : 1,
    half: random.chance(0.5),
  };
  const outcome = await stage.attempt({ operation, fault });
  tally.tries += 1;
  tally.met += outcome.met;
  for (const finding of outcome.findings)
    findings.expect(false, `${operation}, call ${skip + 1}: ${finding}`);
  return outcome.met;
}

async function toRecordedRun(stage: FaultStage, copy: string): Promise<RecordedRun> {
  const { dataRoot } = stage.world;
  const load = stage.load();
  const truth = new Map<string, AgentView>();
  const agents = join(dataRoot, "agents");
  for (const agentId of readdirSync(agents)) {
    if (!existsSync(join(agents, agentId, "store.db"))) continue;
    const directory = join(copy, agentId);
    cpSync(join(agents, agentId), directory, { recursive: true });
    truth.set(agentId, await viewAgent({ directory, agentId, nonces: noncesOf(load), isUnfinished: false }));
  }
  return { recordFile: stage.recordFile, root: dataRoot, rootInode: statSync(dataRoot).ino, load, truth };
}
