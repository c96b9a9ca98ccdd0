/**
 * Terminals that the native shim keeps. Each is an execution of the ledger like any command, with a terminal in place
 * of pipes: it outlives the daemon, its output is in the spool, and its end is on record.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BoxError, type Clock } from "@sand/protocol";
import { executionFiles } from "../ledger/execution-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { StartRecord } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";
import type {
  LeftTerminal,
  TerminalBackend,
  TerminalEvents,
  TerminalExit,
  TerminalLaunch,
  TerminalPipe,
  TerminalSize,
} from "../pty/terminal-backend.ts";
import type { KeeperPool } from "./keeper-pool.ts";
import { openTerminalLink, type TerminalLink } from "./terminal-link.ts";

export interface ShimBackendDeps {
  readonly ledger: Ledger;
  readonly keepers: KeeperPool;
  readonly clock: Clock;
}

/** what is reported when no program came up, as shells do */
const notStarted: TerminalExit = { code: 127, signal: null };
/** Its keeper died, so nobody saw how it ended, and nothing is made up. */
const unknownEnd: TerminalExit = { code: null, signal: null };

export function createShimBackend(deps: ShimBackendDeps): TerminalBackend {
  return {
    ...{ name: "shim", outlivesUs: true },
    spawn: (launch, events) => hold(events, () => start(deps, launch)),
    findLeft: () => deps.ledger.list().filter(isLeft).map(toLeft),
  };
}

function isLeft(execution: TrackedExecution): boolean {
  execution.refresh();
  const { start, claim, exit } = execution;
  return start.launch.terminal !== undefined && claim !== undefined && exit === undefined;
}

function toLeft(execution: TrackedExecution): LeftTerminal {
  const { executionId, labels = {}, launch } = execution.start;
  const { argv, env, cwd, user } = launch;
  const size = readSize(execution.folder) ?? launch.terminal ?? { cols: 80, rows: 24 };
  return {
    launch: { executionId, argv, env, cwd, labels, ...size, ...(user === undefined ? {} : { user }) },
    open: (events) =>
      hold(events, () => {
        execution.follow();
        return Promise.resolve(execution);
      }),
  };
}

/** Gives the terminal of an execution to its events, once that runs. */
function hold(events: TerminalEvents, find: () => Promise<TrackedExecution>): TerminalPipe {
  const state: { pid: number; isPaused: boolean; link: TerminalLink | undefined } = {
    ...{ pid: 0, isPaused: false, link: undefined },
  };
  let hasEnded = false;
  const end = (exit: TerminalExit): void => {
    if (hasEnded) return;
    hasEnded = true;
    state.link?.close();
    events.onExit(exit);
  };
  const opening = find().then((execution) => {
    if (execution.started === undefined) {
      end(exitOf(execution));
      return undefined;
    }
    state.pid = execution.started.pid;
    const link = openTerminalLink({
      ...{ execution, after: 0, onOutput: events.onData },
      onEnd: () => end(exitOf(execution)),
    });
    state.link = link;
    if (state.isPaused) link.pause();
    return { link, folder: execution.folder };
  });
  // Whoever writes hears of it; the end is told in any case.
  opening.catch(() => end(notStarted));

  return {
    get pid() {
      return state.pid;
    },
    started: opening.then(
      () => undefined,
      () => undefined,
    ),
    async write(bytes) {
      const opened = await opening;
      if (opened === undefined || hasEnded) throw new BoxError("terminal/ended", "the terminal has ended");
      await opened.link.write(bytes);
    },
    resize: (size) =>
      void opening
        .then((opened) => {
          if (opened === undefined || hasEnded) return;
          opened.link.resize(size);
          writeSize(opened.folder, size);
        })
        .catch(() => undefined),
    pause() {
      state.isPaused = true;
      state.link?.pause();
    },
    resume() {
      state.isPaused = false;
      state.link?.resume();
    },
    close: () => void opening.then((opened) => opened?.link.hangUp()).catch(() => undefined),
  };
}

async function start(deps: ShimBackendDeps, launch: TerminalLaunch): Promise<TrackedExecution> {
  const execution = await deps.ledger.add(toRecord(launch, deps.clock.nowMs()));
  // Its output comes over the link, so the folder is watched only where nobody tells us the records.
  if (!deps.keepers.tellsRecords) execution.follow();
  const { finished } = await deps.keepers.give(execution);
  let isGone = false;
  void finished.then(() => {
    isGone = true;
    execution.refresh();
    execution.changes.bump();
  });
  await awaitStart(execution, () => isGone);
  return execution;
}

async function awaitStart(execution: TrackedExecution, isGone: () => boolean): Promise<void> {
  const deadline = AbortSignal.timeout(limits.startMaxMs);
  while (!deadline.aborted && !isGone() && execution.started === undefined && execution.exit === undefined)
    await execution.changes.after(execution.changes.version, limits.startMaxMs, deadline);
}

/** The last size, for the next daemon: a screen of another size would be drawn wrong. */
function writeSize(folder: string, { cols, rows }: TerminalSize): void {
  writeFileSync(join(folder, executionFiles.terminalSize), `${cols} ${rows}\n`);
}

/** Undefined where nobody changed it, or a crash has torn the text. */
function readSize(folder: string): TerminalSize | undefined {
  const path = join(folder, executionFiles.terminalSize);
  const [, cols, rows] = existsSync(path) ? (/^(\d+) (\d+)\n$/u.exec(readFileSync(path, "utf8")) ?? []) : [];
  return cols === undefined || rows === undefined ? undefined : { cols: Number(cols), rows: Number(rows) };
}

function exitOf({ exit }: TrackedExecution): TerminalExit {
  if (exit === undefined) return notStarted;
  return exit.outcome === "known" ? { code: exit.exit.code, signal: exit.exit.signal } : unknownEnd;
}

function toRecord(plan: TerminalLaunch, nowMs: number): StartRecord {
  const { cols, rows, argv, env, cwd, executionId, labels, user } = plan;
  return {
    ...{ version: 1, executionId, digest: "", acceptedAtMs: nowMs },
    ...{ background: true, lineage: { agentId: "", turnId: "" } },
    ...(labels === undefined ? {} : { labels }),
    launch: {
      ...{ argv, env, cwd, stdin: true, killMs: 0, sandboxed: false, terminal: { cols, rows } },
      ...(user === undefined ? {} : { user }),
    },
  };
}
