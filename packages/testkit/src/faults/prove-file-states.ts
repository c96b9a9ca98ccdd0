/**
 * Power cuts at the level of files: a real host is recorded at work, and of the record every possible disk is built: at
 * each point all that was synced, and of what wasn't, any part. Each disk must open and hold all that was promised.
 *
 * It goes in chunks, each with a recorded run and a seed of its own, so that it can be stopped and adds up.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { collectFindings, type ProofResult } from "../proofs/proof-result.ts";
import { digestBundles, openProofState } from "../proofs/proof-state.ts";
import { createSeededRandom, type SeededRandom } from "../seeded-random.ts";
import { createDiskModel, type DiskState, type Survival } from "./disk-model.ts";
import { type DiskOp, readDiskRecord } from "./disk-record.ts";
import { judgeLiveHost } from "./judge-live-host.ts";
import { createStateJudge } from "./judge-state.ts";
import { createPromises, type Promises } from "./promises.ts";
import { type RecordedRun, recordRun } from "./record-run.ts";
import type { Weakness } from "./weaken-host.ts";

export interface FileStatesOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  /** distinct states to judge */
  readonly states: number;
  /** states that the shipped host is started on, in each chunk */
  readonly liveStarts: number;
  /** states of one recorded run */
  readonly chunkStates?: number;
  readonly weakness?: Weakness;
  /** a control may end at its first findings */
  readonly enoughFindings?: number;
  readonly stateFile?: string;
  readonly report: (line: string) => void;
}

interface Chunk {
  readonly states: number;
  readonly liveStarts: number;
  readonly ops: number;
  readonly promises: number;
  readonly findings: readonly string[];
}

const survivals = ["nothing", "everything", "some", "some", "torn", "torn", "torn"] as const;
/** records are gone through this often to find states that weren't seen before */
const passesMax = 60;
const findingsKept = 20;

export async function proveFileStates(options: FileStatesOptions): Promise<ProofResult> {
  const findings = collectFindings();
  const kept = openProofState(options.stateFile, digestBundles(options.bundles));
  const figures = { states: 0, runs: 0, liveStarts: 0, recordedOps: 0, promises: 0 };
  const chunkStates = options.chunkStates ?? 2_500;
  for (
    let at = 1;
    figures.states < options.states && at <= Math.ceil(options.states / chunkStates) * 3;
    at += 1
  ) {
    const states = Math.min(chunkStates, options.states - figures.states);
    const seed = createSeededRandom(options.seed)
      .fork(`chunk ${at}`)
      .whole(1, 2 ** 31);
    const name = `${options.weakness ?? "sound"}/${options.seed}/${at}/${states}`;
    const chunk = await kept.once(name, () => judgeChunk(options, { seed, states }));
    figures.states += chunk.states;
    figures.runs += 1;
    figures.liveStarts += chunk.liveStarts;
    figures.recordedOps += chunk.ops;
    figures.promises += chunk.promises;
    for (const finding of chunk.findings) findings.expect(false, `seed ${seed}: ${finding}`);
    options.report(
      `file states, seed ${seed}: ${chunk.states} states of ${chunk.ops} calls, ${chunk.findings.length} findings`,
    );
    if (findings.list.length >= (options.enoughFindings ?? Number.POSITIVE_INFINITY)) break;
  }
  if (options.weakness === undefined)
    findings.expect(figures.states >= options.states, `only ${figures.states} distinct states were found`);
  return { figures: { seed: options.seed, ...figures }, findings: findings.list };
}

async function judgeChunk(
  options: FileStatesOptions,
  { seed, states }: { readonly seed: number; readonly states: number },
): Promise<Chunk> {
  const folder = mkdtempSync(join(tmpdir(), "sand-record-"));
  const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "sand-states-"));
  try {
    const { bundles, weakness } = options;
    const run = await recordRun({
      seed,
      bundles,
      agents: 3,
      rounds: states > 1_000 ? 14 : 6,
      folder,
      ...(weakness === undefined ? {} : { weakness }),
    });
    const random = createSeededRandom(seed).fork("states");
    const { enoughFindings, liveStarts } = options;
    const judged = await judgeRecord({
      ...{ run, scratch, wanted: states, random, bundles, liveStarts },
      ...(enoughFindings === undefined ? {} : { enoughFindings }),
    });
    return judged;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

export interface RecordToJudge {
  readonly run: RecordedRun;
  /** lies best in memory */
  readonly scratch: string;
  /** distinct states */
  readonly wanted: number;
  readonly random: SeededRandom;
  /** started on some of the states; on none when absent */
  readonly bundles?: SandBundles;
  readonly liveStarts?: number;
  readonly enoughFindings?: number;
}

/** Goes through the record until enough states were judged, or no more are found. */
export async function judgeRecord(walk: RecordToJudge): Promise<Chunk> {
  const { run, scratch, wanted, random, bundles, liveStarts = 0, enoughFindings = findingsKept } = walk;
  const judge = createStateJudge(run, scratch);
  const tally = {
    states: 0,
    ops: 0,
    promises: run.load.promised.size,
    liveStarts: 0,
    findings: [] as string[],
  };
  tally.ops = [...readDiskRecord(run.recordFile)].length;
  const isDone = () => tally.states >= wanted || tally.findings.length >= enoughFindings;
  // Each pass goes through the whole record and looks at a share of its points, so that no part of it is left out.
  const share = Math.min(1, (3 * wanted) / Math.max(1, tally.ops));
  for (let pass = 1; pass <= passesMax && !isDone(); pass += 1) {
    for (const { state, promises, at } of cuts(walk, share, random.fork(`pass ${pass}`))) {
      if (isDone()) break;
      const findings = await judge.judge(state, promises);
      if (findings === undefined) continue;
      tally.states += 1;
      for (const finding of findings) tally.findings.push(`after call ${at}: ${finding}`);
      const isLive = Math.floor((tally.states * liveStarts) / wanted) > tally.liveStarts;
      if (isLive && bundles !== undefined) {
        tally.liveStarts += 1;
        const found = await judgeLiveHost({ bundles, state, promises, load: run.load });
        for (const finding of found) tally.findings.push(`after call ${at}, started: ${finding}`);
      }
    }
  }
  return tally;
}

interface Cut {
  readonly at: number;
  readonly state: DiskState;
  readonly promises: Promises;
}

function* cuts(walk: RecordToJudge, share: number, random: SeededRandom): Generator<Cut, void> {
  const { run } = walk;
  const model = createDiskModel(run.root, run.rootInode, random.fork("failed syncs"));
  const promises = createPromises(run.load, run.truth);
  let at = 0;
  for (const op of readDiskRecord(run.recordFile)) {
    at += 1;
    model.apply(op);
    const isWorthIt = op.kind === "sent" ? promises.heard(op.text) : changes(op);
    // What was just promised is looked at more often: there a lost sync shows.
    if (!isWorthIt || !random.chance(op.kind === "sent" ? Math.min(1, share * 2) : share)) continue;
    const survival: Survival = model.pendingCount() === 0 ? "nothing" : random.pick(survivals);
    yield { at, state: model.pick(survival, random), promises };
  }
}

const changes = (op: DiskOp): boolean => op.kind !== "sent";
