/**
 * Background commands as files that agents can read: one for each, from its start on. They are written from the
 * command's spool, so a daemon that finds one half written after a restart writes it anew, and what happened meanwhile
 * is in it. A file that can't be written costs the file, never the command.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import type { Event } from "@sand/protocol/exec";
import { folderName } from "../ledger/execution-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";
import { createEventReader } from "../processes/execution-events.ts";
import { terminalFileLimits } from "./shell-limits.ts";
import { createTerminalFile, type TerminalFile } from "./terminal-file.ts";
import { hasFooter, type TerminalFacts, terminalFooter, terminalHeader } from "./terminal-text.ts";

export interface TerminalFiles {
  readonly folder: string;
  pathOf(processId: string): string;
  /** Writes the file of a background command; of any other execution nothing. */
  follow(execution: TrackedExecution): void;
  /** Takes up those that an earlier daemon has left. */
  adopt(): void;
}

export interface TerminalFilesDeps {
  readonly folder: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly run: (name: string, work: (signal: AbortSignal) => Promise<void>) => void;
}

const suffix = ".txt";

export function createTerminalFiles(deps: TerminalFilesDeps): TerminalFiles {
  const followed = new Set<string>();
  const pathOf = (processId: string): string => join(deps.folder, folderName(processId) + suffix);

  function makeRoom(): void {
    mkdirSync(deps.folder, { recursive: true, mode: 0o755 });
    refuseForeign(deps.folder);
    const old = readdirSync(deps.folder)
      .filter((name) => name.endsWith(suffix))
      .map((name) => join(deps.folder, name))
      .filter((path) => !followed.has(path));
    const tooMany = old.length + followed.size - terminalFileLimits.filesMax;
    if (tooMany <= 0) return;
    const byAge = old.map((path) => ({
      path,
      atMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }));
    byAge.sort((a, b) => a.atMs - b.atMs);
    for (const { path } of byAge.slice(0, tooMany)) rmSync(path, { force: true });
  }

  function follow(execution: TrackedExecution): void {
    const path = pathOf(execution.start.executionId);
    if (execution.start.shown === undefined || followed.has(path)) return;
    followed.add(path);
    deps.run("write a background command's file", async (signal) => {
      try {
        makeRoom();
        await writeWhole(deps, execution, path, signal);
      } catch (err) {
        const { executionId } = execution.start;
        deps.log.warn({ event: "shells.file-lost", executionId, err }, "a background command has no file");
      } finally {
        followed.delete(path);
      }
    });
  }

  return {
    ...{ folder: deps.folder, pathOf, follow },
    adopt() {
      for (const execution of deps.ledger.list()) {
        if (execution.start.shown === undefined) continue;
        const path = pathOf(execution.start.executionId);
        const isOver = execution.closed !== undefined;
        // Of those that have ended, one without a file had to make room.
        if (isOver ? existsSync(path) && !hasFooter(readFileSync(path, "latin1")) : true) follow(execution);
      }
    },
  };
}

/** Where commands have an account of their own, they may have made the folder first, or a link in its place. */
function refuseForeign(folder: string): void {
  const facts = lstatSync(folder);
  if (facts.isDirectory() && facts.uid === process.getuid?.()) return;
  throw new BoxError("config/invalid", `${folder} isn't a folder of the daemon's own account`, {
    hint: "set SAND_BOX_TERMINALS_DIRECTORY to one",
  });
}

async function writeWhole(
  { clock }: TerminalFilesDeps,
  execution: TrackedExecution,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const { acceptedAtMs } = execution.start;
  const file = await createTerminalFile(path, terminalHeader(factsOf(execution)));
  const reader = createEventReader(execution, { seq: 0, stdout: 0, stderr: 0 });
  while (!signal.aborted) {
    const seen = execution.changes.version;
    const events = reader.read(terminalFileLimits.pieceMaxBytes);
    await writeEvents(file, events);
    if (reader.ended) {
      await file.finish(terminalHeader(factsOf(execution)), terminalFooter(execution.exit, acceptedAtMs));
      return;
    }
    if (events.length === 0) await execution.changes.after(seen, limits.waitMaxMs, signal);
    // Also when there is more: a reader of the file doesn't need it sooner, and the daemon has other work.
    await clock.sleep(terminalFileLimits.writeEveryMs, signal);
  }
}

async function writeEvents(file: TerminalFile, events: readonly Event[]): Promise<void> {
  let pieces: Uint8Array[] = [];
  const flush = async (): Promise<void> => {
    if (pieces.length > 0) await file.append(Buffer.concat(pieces));
    pieces = [];
  };
  for (const { kind } of events) {
    if (kind.case === "output") pieces.push(kind.value.data);
    if (kind.case !== "gap") continue;
    await flush();
    await file.skip(Number(kind.value.to - kind.value.from));
  }
  await flush();
}

function factsOf({ start, started, exit, closed }: TrackedExecution): TerminalFacts {
  const { command, cwd } = start.shown ?? { command: "", cwd: "" };
  const ended = exit?.outcome === "unknown" ? "unknown" : "exited";
  const status = closed === undefined ? "running" : ended;
  return { pid: started?.pid ?? 0, cwd, command, status, startedAtMs: start.acceptedAtMs };
}
