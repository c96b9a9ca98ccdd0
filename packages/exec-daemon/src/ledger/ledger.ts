/**
 * The daemon's durable memory of executions. The folders are the truth; this is what was read from them.
 *
 * 1. An intent is on disk, synced with its folder, before anybody claims it. Where the keepers see to that themselves it
 *    is only written here.
 *    Of all records only the intent is waited for on the disk: a kill loses nothing that was written, and what a power cut
 *    takes is told by the boot that the intent names. An intent of an earlier boot without a claim may have been started,
 *    so it's settled as unknown; one of this boot was not, and may be.
 * 2. At a start every folder is read again: what its keeper still holds is followed, what has ended is collected, and
 *    what has neither a keeper nor a record is settled as unknown.
 * 3. With the ledger off nothing is read at a start and an id is never recognised. That exists for one test.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isSameProcess, type Logger, readBootId, writeFileAtomic } from "@sand/node-kit";
import { type Clock, invariant } from "@sand/protocol";
import { claimExecution } from "../keeper/claim-execution.ts";
import { limits } from "../limits.ts";
import { createSpoolDropper } from "./drop-spools.ts";
import { executionFiles, executionsFolder, folderName } from "./execution-folder.ts";
import { planRetention } from "./plan-retention.ts";
import { readStart, type StartRecord } from "./records.ts";
import { settleLost } from "./settle-lost.ts";
import { isRunning, type TrackedExecution, trackExecution } from "./tracked-execution.ts";
import { writeIntent } from "./write-intent.ts";

export interface Ledger {
  find(executionId: string): TrackedExecution | undefined;
  list(): readonly TrackedExecution[];
  /** Records an intent; its folder and file are on disk when it resolves, unless its keeper waits for that. */
  add(start: StartRecord, syncedBy?: "us" | "keeper"): Promise<TrackedExecution>;
  /** Replaces the intent of an execution that was never claimed. */
  renew(execution: TrackedExecution, start: StartRecord): Promise<TrackedExecution>;
  remove(execution: TrackedExecution): Promise<void>;
  runningCount(): number;
  /** Settles executions whose keeper has vanished. */
  check(): void;
  /** Forgets what the limits say. */
  prune(): Promise<void>;
  close(): void;
}

export interface LedgerDeps {
  readonly dataRoot: string;
  readonly enabled: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openLedger(deps: LedgerDeps): Ledger {
  const root = executionsFolder(deps.dataRoot);
  const executions = new Map<string, TrackedExecution>();
  /** executions whose last look failed, so that one that keeps failing is told once */
  const unreadable = new Set<TrackedExecution>();
  /** folders that are being removed, so that the same id, asked for again, waits for its place */
  const leaving = new Map<string, Promise<void>>();
  const spools = createSpoolDropper(limits, deps.log);
  const bootId = readBootId();
  mkdirSync(root, { recursive: true, mode: 0o700 });

  function adopt(execution: TrackedExecution): void {
    execution.refresh();
    if (execution.closed !== undefined) return;
    if (execution.claim === undefined && isOfEarlierBoot(execution.start)) takeOver(execution);
    else if (execution.claim === undefined) giveUp(execution);
    else if (isSameProcess(execution.claim)) execution.follow();
    else settle(execution);
  }

  function isOfEarlierBoot(start: StartRecord): boolean {
    return start.bootId !== undefined && start.bootId !== bootId;
  }

  /** The claim is ours then, so that the intent is never given to a keeper again. */
  function takeOver(execution: TrackedExecution): void {
    // The cut may have left its name without its content.
    rmSync(join(execution.folder, executionFiles.claim), { force: true });
    claimExecution(execution.folder);
    settle(execution);
  }

  /** An intent that nobody has taken may be asked for again, but for a terminal's, which its daemon alone knew. */
  function giveUp(execution: TrackedExecution): void {
    if (execution.start.launch.terminal === undefined) return;
    // A keeper that was quicker is found with the next look.
    if (claimExecution(execution.folder)) settle(execution, "the daemon ended before the terminal was begun");
    else execution.follow();
  }

  const keeperGone = "the process that kept this execution is gone and left no record of its end";

  function settle(execution: TrackedExecution, reason = keeperGone): void {
    const { executionId } = execution.start;
    settleLost(execution, reason);
    const isUnknown = execution.exit?.outcome === "unknown";
    deps.log.warn({ event: "execution.lost", executionId, isUnknown }, "an execution lost its keeper");
  }

  /** One that can't be settled now, for instance on a full disk, is looked at again and doesn't hold up the others. */
  function lookAt(execution: TrackedExecution): void {
    if (execution.claim === undefined || execution.closed !== undefined) return;
    try {
      if (isSameProcess(execution.claim)) execution.refresh();
      else settle(execution);
      unreadable.delete(execution);
    } catch (error) {
      if (unreadable.has(execution)) return;
      unreadable.add(execution);
      const { executionId } = execution.start;
      deps.log.error(
        { event: "execution.unsettled", executionId, err: error },
        "an execution can't be settled",
      );
    }
  }

  function load(name: string): void {
    const folder = join(root, name);
    try {
      const start = readIntent(folder);
      if (start === undefined) {
        rmSync(folder, { recursive: true, force: true });
        return;
      }
      const execution = trackExecution(start, folder);
      executions.set(start.executionId, execution);
      adopt(execution);
    } catch (error) {
      // One damaged folder must not keep the others from being found. It stays on disk for a person to look at.
      deps.log.error(
        { event: "execution.damaged", folder: name, err: error },
        "an execution's folder can't be read",
      );
    }
  }

  const ofThisBoot = (start: StartRecord): StartRecord =>
    bootId === undefined ? start : { ...start, bootId };

  function track(folder: string, start: StartRecord): TrackedExecution {
    const execution = trackExecution(start, folder);
    executions.set(start.executionId, execution);
    return execution;
  }

  if (deps.enabled) for (const name of readdirSync(root)) load(name);

  return {
    find: (executionId) => executions.get(executionId),
    list: () => [...executions.values()],
    async add(start, syncedBy = "us") {
      const suffix = deps.enabled ? "" : `@${randomBytes(6).toString("hex")}`;
      const folder = join(root, folderName(start.executionId) + suffix);
      const intent = ofThisBoot(start);
      await leaving.get(folder)?.catch(() => undefined);
      await writeIntent(folder, intent, syncedBy);
      return track(folder, intent);
    },
    async renew({ folder }, start) {
      const intent = ofThisBoot(start);
      await writeFileAtomic(join(folder, executionFiles.start), JSON.stringify(intent));
      return track(folder, intent);
    },
    async remove(execution) {
      execution.stopFollowing();
      unreadable.delete(execution);
      if (executions.get(execution.start.executionId) === execution)
        executions.delete(execution.start.executionId);
      const gone = rm(execution.folder, { recursive: true, force: true });
      leaving.set(execution.folder, gone);
      try {
        await gone;
      } finally {
        leaving.delete(execution.folder);
      }
      execution.changes.bump();
    },
    runningCount() {
      let count = 0;
      for (const execution of executions.values()) if (isRunning(execution)) count += 1;
      return count;
    },
    check() {
      for (const execution of executions.values()) lookAt(execution);
    },
    async prune() {
      const finished = [...executions.values()].flatMap((execution) =>
        execution.closed === undefined
          ? []
          : [{ executionId: execution.start.executionId, endedAtMs: endedAtMs(execution) }],
      );
      for (const executionId of planRetention(finished, limits, deps.clock.nowMs())) {
        const execution = executions.get(executionId);
        if (execution !== undefined) await this.remove(execution);
      }
      await spools.drop(
        [...executions.values()].flatMap((execution) =>
          execution.closed === undefined ? [] : [{ execution, endedAtMs: endedAtMs(execution) }],
        ),
      );
    },
    close() {
      for (const execution of executions.values()) execution.stopFollowing();
    },
  };
}

/** Undefined for a folder that we died while making: without a claim nothing was ever started from it. */
function readIntent(folder: string): StartRecord | undefined {
  const isClaimed = existsSync(join(folder, executionFiles.claim));
  try {
    const start = readStart(folder);
    invariant(start !== undefined || !isClaimed, "a claimed execution has its intent");
    return start;
  } catch (error) {
    if (isClaimed) throw error;
    return undefined;
  }
}

function endedAtMs(execution: TrackedExecution): number {
  return execution.exit?.outcome === "known" ? execution.exit.exit.endedAtMs : execution.start.acceptedAtMs;
}
