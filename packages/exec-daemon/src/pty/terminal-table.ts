/**
 * All terminals of this daemon, by id. A repeat of a request under the same id finds the terminal that it made; another
 * request under that id is a conflict. Ended ones stay for a while, so that a client that comes late learns the end.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Logger } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { BoxPolicy } from "../box-policy.ts";
import { encloserOf } from "../enclosure/encloser.ts";
import type { SpawnRequest } from "./parse-spawn.ts";
import { planTerminal } from "./plan-terminal.ts";
import { ptyLimits } from "./pty-limits.ts";
import type { Screens } from "./screens.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import type { LeftTerminal, TerminalBackend, TerminalEvents, TerminalLaunch } from "./terminal-backend.ts";
import { parseLabels } from "./terminal-label.ts";

export interface TerminalTableDeps {
  readonly policy: BoxPolicy;
  readonly backend: TerminalBackend;
  readonly screens: Screens;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface TerminalTable {
  /** Throws `exec/key-conflict`, `exec/too-many` and what a start can throw. */
  spawn(request: SpawnRequest): Promise<{ readonly existing: boolean; readonly terminal: Terminal }>;
  /** Throws `terminal/unknown`. */
  find(id: string): Terminal;
  list(): readonly Terminal[];
  /** Ends those that can't go on without us. */
  close(): Promise<void>;
}

export function createTerminalTable(deps: TerminalTableDeps): TerminalTable {
  const rows = new Map<string, { readonly terminal: Terminal; readonly digest: string }>();
  let isClosed = false;

  const list = (): readonly Terminal[] => [...rows.values()].map((row) => row.terminal);

  function forgetOld(): void {
    const ended = list()
      .filter((terminal) => terminal.exit !== undefined && terminal.listeners === 0)
      .sort((a, b) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0));
    const oldest = deps.clock.nowMs() - ptyLimits.endedMaxAgeMs;
    for (const [index, terminal] of ended.entries()) {
      if (index < ptyLimits.endedMax && (terminal.endedAtMs ?? 0) > oldest) continue;
      rows.delete(terminal.id);
      terminal.dispose();
    }
  }

  function onEnded(terminal: Terminal): void {
    encloserOf(deps.policy).mountPoints.release(terminal.executionId);
    forgetOld();
  }

  function findOrOpen(request: SpawnRequest): { existing: boolean; terminal: Terminal } {
    forgetOld();
    if (isClosed) throw new BoxError("host/shutting-down", "the daemon is ending");
    const id = request.id ?? randomUUID();
    const digest = digestOf(request);
    const known = rows.get(id);
    if (known !== undefined && known.digest !== digest)
      throw new BoxError("exec/key-conflict", "a terminal with this id was made by another request");
    if (known !== undefined) return { existing: true, terminal: known.terminal };
    if (list().filter((terminal) => terminal.exit === undefined).length >= ptyLimits.runningMax)
      throw new BoxError("exec/too-many", `${ptyLimits.runningMax} terminals run already`);
    const terminal = openTerminal(
      { ...deps, onEnded },
      planTerminal(deps.policy, request, { id, digest, nowMs: deps.clock.nowMs() }),
    );
    rows.set(id, { terminal, digest });
    return { existing: false, terminal };
  }

  /** Takes up what an earlier daemon has left running; its clients come back and find it. */
  function takeUp({ launch, open }: LeftTerminal): void {
    const label = parseLabels(launch.labels);
    if (label === undefined || rows.has(label.id)) return;
    const { digest, ...kept } = label;
    const backend = { ...deps.backend, spawn: (_: TerminalLaunch, events: TerminalEvents) => open(events) };
    const terminal = openTerminal({ ...deps, backend, onEnded }, { ...kept, launch, user: launch.user });
    rows.set(label.id, { terminal, digest });
  }

  for (const left of deps.backend.findLeft()) takeUp(left);

  return {
    async spawn(request) {
      const found = findOrOpen(request);
      await found.terminal.started;
      return found;
    },
    list() {
      forgetOld();
      return list();
    },
    find(id) {
      const row = rows.get(id);
      if (row === undefined) throw new BoxError("terminal/unknown", "there is no terminal of that id");
      return row.terminal;
    },
    async close() {
      isClosed = true;
      const running = deps.backend.outlivesUs ? [] : list().filter((terminal) => terminal.exit === undefined);
      await Promise.all(running.map((terminal) => terminal.end("hup")));
      await deps.screens.close();
    },
  };
}

/** The order of the environment's entries is the sender's accident and doesn't count. */
function digestOf({ argv, cwd, env, onDisconnect, idleGraceMs }: SpawnRequest): string {
  const entries = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([argv, cwd, entries, onDisconnect, idleGraceMs]))
    .digest("hex");
}
