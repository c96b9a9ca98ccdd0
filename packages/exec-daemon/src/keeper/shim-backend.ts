/**
 * Terminals that the native shim keeps. Each is an execution of the ledger like any command, with a terminal in place
 * of pipes: it outlives the daemon, its output is in the spool, and its end is on record.
 */
import { BoxError, type Clock } from "@sand/protocol";
import type { Ledger } from "../ledger/ledger.ts";
import type { StartRecord } from "../ledger/records.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";
import type {
  TerminalBackend,
  TerminalEvents,
  TerminalExit,
  TerminalLaunch,
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

export function createShimBackend(deps: ShimBackendDeps): TerminalBackend {
  return {
    ...{ name: "shim", outlivesUs: true },
    spawn(launch, events) {
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
      const opening = open(deps, launch, events, end).then((opened) => {
        state.pid = opened?.pid ?? 0;
        state.link = opened?.link;
        if (state.isPaused) state.link?.pause();
        return state.link;
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
          const link = await opening;
          if (link === undefined || hasEnded) throw new BoxError("terminal/ended", "the terminal has ended");
          await link.write(bytes);
        },
        resize: (size) => void opening.then((link) => link?.resize(size)).catch(() => undefined),
        pause() {
          state.isPaused = true;
          state.link?.pause();
        },
        resume() {
          state.isPaused = false;
          state.link?.resume();
        },
        close: () => void opening.then((link) => link?.hangUp()).catch(() => undefined),
      };
    },
  };
}

async function open(
  deps: ShimBackendDeps,
  launch: TerminalLaunch,
  events: TerminalEvents,
  end: (exit: TerminalExit) => void,
): Promise<{ readonly pid: number; readonly link: TerminalLink } | undefined> {
  const execution = await deps.ledger.add(toRecord(launch, deps.clock.nowMs()));
  execution.follow();
  const { finished } = await deps.keepers.give(execution.folder);
  let isGone = false;
  void finished.then(() => {
    isGone = true;
    execution.refresh();
    execution.changes.bump();
  });
  await awaitStart(execution, () => isGone);
  if (execution.started === undefined) {
    end(exitOf(execution));
    return undefined;
  }
  const link = openTerminalLink({
    ...{ execution, after: 0, onOutput: events.onData },
    onEnd: () => end(exitOf(execution)),
  });
  return { pid: execution.started.pid, link };
}

async function awaitStart(execution: TrackedExecution, isGone: () => boolean): Promise<void> {
  const deadline = AbortSignal.timeout(limits.startMaxMs);
  while (!deadline.aborted && !isGone() && execution.started === undefined && execution.exit === undefined)
    await execution.changes.after(execution.changes.version, limits.startMaxMs, deadline);
}

function exitOf({ exit }: TrackedExecution): TerminalExit {
  return exit?.outcome === "known" ? { code: exit.exit.code, signal: exit.exit.signal } : notStarted;
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
