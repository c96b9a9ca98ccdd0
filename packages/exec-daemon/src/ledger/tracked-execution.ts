/** One execution as the daemon knows it: the records of its folder, read when they appear, and a bell for changes. */
import { type FSWatcher, watch } from "node:fs";
import { type Changes, createChanges } from "./changes.ts";
import { executionFiles } from "./execution-folder.ts";
import {
  type ClaimRecord,
  type ClosedRecord,
  type ExitRecord,
  readClaim,
  readClosed,
  readExit,
  readStarted,
  type StartedRecord,
  type StartRecord,
  type ToldRecord,
} from "./records.ts";

export interface TrackedExecution {
  readonly start: StartRecord;
  readonly folder: string;
  readonly claim: ClaimRecord | undefined;
  readonly started: StartedRecord | undefined;
  readonly exit: ExitRecord | undefined;
  readonly closed: ClosedRecord | undefined;
  readonly changes: Changes;
  /** Reads the records that weren't there before, and rings when there is a new one. */
  refresh(): void;
  /** Takes a record from its keeper, and rings. */
  learn(told: ToldRecord): void;
  /**
   * Follows the folder until it is closed, so that output which is added rings as well, and the records do whose keeper
   * doesn't tell us. Who waits for output asks for it: a watch costs a short command more than all else that we do.
   */
  follow(): void;
  stopFollowing(): void;
}

const recordFiles: ReadonlySet<string> = new Set([
  executionFiles.claim,
  executionFiles.started,
  executionFiles.exit,
  executionFiles.closed,
]);

export function trackExecution(start: StartRecord, folder: string): TrackedExecution {
  const changes = createChanges();
  let claim: ClaimRecord | undefined;
  let started: StartedRecord | undefined;
  let exit: ExitRecord | undefined;
  let closed: ClosedRecord | undefined;
  let watcher: FSWatcher | undefined;

  function stopFollowing(): void {
    watcher?.close();
    watcher = undefined;
  }

  function refresh(): void {
    const known = [claim, started, exit, closed].filter((record) => record !== undefined).length;
    // The last record first: the keeper writes them in the other order, so whatever is found has its predecessors.
    // Read forwards, an exit and a closing that are written in between would show a closed execution without an end.
    closed ??= readClosed(folder);
    exit ??= readExit(folder);
    started ??= readStarted(folder);
    claim ??= readClaim(folder);
    if (closed !== undefined) stopFollowing();
    if ([claim, started, exit, closed].filter((record) => record !== undefined).length > known)
      changes.bump();
  }

  return {
    start,
    folder,
    changes,
    get claim() {
      return claim;
    },
    get started() {
      return started;
    },
    get exit() {
      return exit;
    },
    get closed() {
      return closed;
    },
    refresh,
    learn({ file, record }) {
      if (file === executionFiles.claim) claim ??= record;
      else if (file === executionFiles.started) started ??= record;
      else if (file === executionFiles.exit) exit ??= record;
      else closed ??= record;
      if (closed !== undefined) stopFollowing();
      changes.bump();
    },
    follow() {
      if (watcher !== undefined || closed !== undefined) return;
      try {
        watcher = watch(folder, (_kind, name) => {
          // Output comes in floods; only a record's own name is worth reading the records for.
          if (name === null || recordFiles.has(name)) refresh();
          else changes.bump();
        });
        watcher.on("error", stopFollowing);
      } catch {
        // Out of watches, or forgotten just now: the regular looks still find every record, and readers what there is.
      }
    },
    stopFollowing,
  };
}

export function isRunning(execution: TrackedExecution): boolean {
  return execution.claim !== undefined && execution.exit === undefined;
}
