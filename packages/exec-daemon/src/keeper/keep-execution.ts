/**
 * Keeps one execution from its claim to its last byte: starts the command, writes its output to the spool, enforces
 * its life limit, and records its end. It needs nobody: the daemon may die and come back meanwhile.
 *
 * 1. Claim before spawn, exit record before the end is shown to anybody.
 * 2. The exit is known at once; `closed` follows when both streams are at their end or the drain limit is hit.
 * 3. A stream that something else still holds after that is emptied and thrown away, so that its writer lives on.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { failpoint, writeFileAtomicSync } from "@sand/node-kit";
import { type Clock, invariant } from "@sand/protocol";
import { executionFiles, startedSeq } from "../ledger/execution-folder.ts";
import {
  type ClosedRecord,
  type ExitFacts,
  type ExitRecord,
  type LaunchPlan,
  readStart,
  type StartedRecord,
} from "../ledger/records.ts";
import { limits } from "../limits.ts";
import type { SpoolStream } from "../spool/frame.ts";
import { createSpoolWriter, type SpoolWriter } from "../spool/spool-writer.ts";
import { claimExecution } from "./claim-execution.ts";
import { createGroupEnder } from "./end-group.ts";
import { computeExitFacts, readOomKills } from "./exit-facts.ts";
import { type CommandPipes, openPipes } from "./open-pipes.ts";
import { pumpStdin } from "./pump-stdin.ts";
import { spawnCommand } from "./spawn-command.ts";
import { watchFolder } from "./watch-folder.ts";

export interface KeepDeps {
  readonly clock: Clock;
  /** aborts when this keeper is told to end: the command's group is then ended too */
  readonly stop: AbortSignal;
}

export type KeepOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "closed" }
  /** recorded as closed, but something still writes; resolves when it is done */
  | { readonly kind: "left-open"; readonly drained: Promise<void> };

export async function keepExecution(folder: string, deps: KeepDeps): Promise<KeepOutcome> {
  if (!claimExecution(folder)) return { kind: "taken" };
  const watch = watchFolder(folder, limits.folderLookEveryMs);
  let drained: Promise<void> | undefined;
  try {
    const outcome = await keepClaimed(folder, {
      ...deps,
      stop: AbortSignal.any([deps.stop, watch.removed]),
    });
    if (outcome.kind === "left-open") drained = outcome.drained;
    return outcome;
  } finally {
    // What was left open is emptied for as long as somebody could ask.
    if (drained === undefined) watch.close();
    else void drained.finally(watch.close);
  }
}

async function keepClaimed(folder: string, deps: KeepDeps): Promise<KeepOutcome> {
  failpoint("keeper.claimed");
  const start = readStart(folder);
  invariant(start !== undefined, "an execution has its intent before it is claimed");
  const spool = createSpoolWriter(folder, startedSeq + 1, limits);
  const pipes = openPipes(folder, start.launch.stdin);
  const spawned = await spawnCommand(start.launch, pipes);
  if (spawned.kind === "failed") {
    recordFailure(folder, spool, spawned, deps.clock.nowMs());
    for (const stream of [pipes.stdout, pipes.stderr, pipes.stdin]) stream?.destroy();
    return { kind: "closed" };
  }
  failpoint("keeper.spawned");
  await recordPatiently({ folder, deps }, executionFiles.started, spawned.started);
  return await follow({ folder, deps, spool, pipes, launch: start.launch, ...spawned });
}

interface Running {
  readonly folder: string;
  readonly deps: KeepDeps;
  readonly spool: SpoolWriter;
  readonly pipes: CommandPipes;
  readonly launch: LaunchPlan;
  readonly child: ChildProcess;
  readonly started: StartedRecord;
}

async function follow(running: Running): Promise<KeepOutcome> {
  const { folder, deps, spool, pipes } = running;
  const over = new AbortController();
  const output = recordOutput(pipes, spool);
  const input = pipes.stdin === undefined ? Promise.resolve() : pumpStdin(folder, pipes.stdin, over.signal);
  const exit = await awaitExit(running, over.signal);
  over.abort();
  await Promise.race([output.ended, deps.clock.sleep(limits.settleMaxMs)]);
  const exitRecord: ExitRecord = { outcome: "known", seq: spool.takeSeq(), exit };
  await recordPatiently(running, executionFiles.exit, exitRecord);
  failpoint("keeper.exited");
  await input;
  const isLeftOpen = await Promise.race([
    output.ended.then(() => false),
    deps.clock.sleep(limits.drainMaxMs).then(() => true),
  ]);
  output.stop();
  await recordPatiently(running, executionFiles.closed, closeSpool(spool, isLeftOpen));
  if (!isLeftOpen) return { kind: "closed" };
  const drained = Promise.race([output.ended, deps.clock.sleep(limits.leftOpenMaxMs, deps.stop)]);
  return { kind: "left-open", drained };
}

async function awaitExit(running: Running, over: AbortSignal): Promise<ExitFacts> {
  const { child, deps, launch, started } = running;
  const oomBefore = readOomKills();
  const ender = createGroupEnder({
    clock: deps.clock,
    pgid: started.pgid,
    graceMs: limits.killGraceMs,
    signal: over,
  });
  const kill = (): void => {
    ender.end().catch(() => child.kill("SIGKILL"));
  };
  let timedOut = false;
  const timer = startTimer(launch.killMs, () => {
    timedOut = true;
    kill();
  });
  deps.stop.addEventListener("abort", kill, { once: true });
  if (deps.stop.aborted) kill();
  const [code, signal] = await exitOf(child);
  timer.stop();
  deps.stop.removeEventListener("abort", kill);
  // The leader is gone, but a limit is meant for all that it started in its group.
  if (timedOut) await ender.end();
  const oomKilled = readOomKills() > oomBefore;
  return computeExitFacts({
    code,
    signal,
    sandboxed: launch.sandboxed,
    timedOut,
    oomKilled,
    endedAtMs: deps.clock.nowMs(),
  });
}

async function exitOf(child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return [child.exitCode, child.signalCode];
}

/** Node's timers hold about 24 days; a longer limit is waited for in pieces. */
function startTimer(ms: number, onEnd: () => void): { stop(): void } {
  const pieceMaxMs = 2 ** 31 - 1;
  let timer: NodeJS.Timeout | undefined;
  const arm = (leftMs: number): void => {
    timer = setTimeout(
      () => (leftMs > pieceMaxMs ? arm(leftMs - pieceMaxMs) : onEnd()),
      Math.min(leftMs, pieceMaxMs),
    );
  };
  if (ms > 0) arm(ms);
  return { stop: () => clearTimeout(timer) };
}

interface RecordedOutput {
  /** both streams are at their end */
  readonly ended: Promise<void>;
  /** From now on output is read and thrown away. */
  stop(): void;
}

function recordOutput(pipes: CommandPipes, spool: SpoolWriter): RecordedOutput {
  let isRecording = true;
  const keep =
    (stream: SpoolStream) =>
    (bytes: Buffer): void => {
      if (!isRecording) return;
      try {
        spool.append(stream, bytes);
      } catch {
        // The disk is full or broken. The command goes on, and readers are told what is missing.
        spool.lose(stream, bytes.length);
      }
    };
  const ended = Promise.all([
    readToEnd(pipes.stdout, keep("stdout")),
    readToEnd(pipes.stderr, keep("stderr")),
  ]);
  return {
    ended: ended.then(() => undefined),
    stop() {
      isRecording = false;
    },
  };
}

/** Resolves at the end of the stream, however it comes about. */
function readToEnd(stream: Socket, onBytes: (bytes: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on("data", onBytes);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => resolve());
  });
}

function recordFailure(
  folder: string,
  spool: SpoolWriter,
  failed: { code: number; message: string },
  nowMs: number,
): void {
  const exit: ExitFacts = {
    ...{ code: failed.code, signal: null, timedOut: false, oomKilled: false },
    ...{ reason: "spawn-failed", message: failed.message, endedAtMs: nowMs },
  };
  const exitRecord: ExitRecord = { outcome: "known", seq: spool.takeSeq(), exit };
  writeRecord(folder, executionFiles.exit, exitRecord);
  writeRecord(folder, executionFiles.closed, closeSpool(spool, false));
}

function closeSpool(spool: SpoolWriter, leftOpen: boolean): ClosedRecord {
  const seq = spool.takeSeq();
  spool.close();
  return { seq, leftOpen, stdoutBytes: spool.stdoutBytes, stderrBytes: spool.stderrBytes };
}

/**
 * Only this process knows that the command runs and how it ended, so a disk that is full for a while is waited for.
 * Where the folder itself stays away, somebody has removed the execution, and nobody will ever ask for it.
 */
async function recordPatiently(
  { folder, deps }: Pick<Running, "folder" | "deps">,
  file: string,
  value: StartedRecord | ExitRecord | ClosedRecord,
): Promise<void> {
  const untilMs = deps.clock.nowMs() + limits.recordRetryMaxMs;
  let lastSeenMs = deps.clock.nowMs();
  for (;;) {
    try {
      writeRecord(folder, file, value);
      return;
    } catch (error) {
      const nowMs = deps.clock.nowMs();
      if (existsSync(folder)) lastSeenMs = nowMs;
      const isGone = nowMs - lastSeenMs >= limits.folderGoneMaxMs;
      if (deps.stop.aborted || nowMs >= untilMs || isGone) throw error;
    }
    await deps.clock.sleep(limits.recordRetryEveryMs, deps.stop);
  }
}

function writeRecord(folder: string, file: string, value: StartedRecord | ExitRecord | ClosedRecord): void {
  writeFileAtomicSync(join(folder, file), JSON.stringify(value));
}
