/**
 * Finds a command or terminal by what a client knows of it: its pid, or the tag that it was started with.
 *
 * Of several with one pid, because the system gives numbers out again, the one that runs is meant, else the last one.
 * One that has ended is found only by whom it is no harm to: a client that comes back for its end.
 */

import type { ProcessSelector } from "@sand/protocol/e2b";
import { type Execution, ExecutionState } from "@sand/protocol/exec";
import { invalid, notFound } from "../surface-error.ts";
import { createCommands, type OpenCommand, type ProcessesClient } from "./command-process.ts";
import { type ProcessConfig, readLabel } from "./process-labels.ts";
import type { RunningProcess } from "./running-process.ts";
import type { TerminalProcess } from "./terminal-process.ts";

export interface ProcessTable {
  readonly openCommand: OpenCommand;
  running(): Promise<readonly RunningProcess[]>;
  find(selector: ProcessSelector | undefined, which: "running" | "any"): Promise<RunningProcess>;
  addTerminal(terminal: TerminalProcess): void;
}

/** commands that are found by their pid without a look at all executions; the oldest are looked for again */
const recentMax = 256;
/** terminals that have ended and whose end may still be asked for */
const endedTerminalsMax = 64;

interface Found {
  readonly process: RunningProcess;
  readonly isRunning: boolean;
  readonly startedAtMs: number;
}

export function createProcessTable(processes: ProcessesClient): ProcessTable {
  const open = createCommands(processes);
  const recent = new Map<number, { readonly processId: string; readonly process: RunningProcess }>();
  const terminals: { readonly process: TerminalProcess; readonly startedAtMs: number }[] = [];

  const openCommand: OpenCommand = (execution, config) => {
    const process = open(execution, config);
    recent.delete(process.pid);
    recent.set(process.pid, { processId: execution.processId, process });
    const [oldest] = recent.keys();
    if (recent.size > recentMax && oldest !== undefined) recent.delete(oldest);
    return process;
  };

  /** What is written to or signalled again and again shouldn't cost a list of everything each time. */
  async function findRecent(selector: ProcessSelector | undefined): Promise<RunningProcess | undefined> {
    if (selector?.selector.case !== "pid") return undefined;
    const pid = selector.selector.value;
    const terminal = terminals.find(
      ({ process }) => process.pid === pid && process.terminal.end === undefined,
    );
    if (terminal !== undefined) return terminal.process;
    const command = recent.get(pid);
    if (command === undefined) return undefined;
    try {
      const { execution } = await processes.wait({ processId: command.processId, waitMs: 0 });
      return execution !== undefined && isRunningNow(execution) ? command.process : undefined;
    } catch {
      // Forgotten meanwhile: it isn't among all executions either, and that is for the search to say.
      return undefined;
    }
  }

  async function everything(): Promise<readonly Found[]> {
    const { executions } = await processes.list({});
    const commands = executions.flatMap((execution) => toFound(open, execution));
    const ownTerminals = terminals.map(({ process, startedAtMs }) => ({
      ...{ process, startedAtMs, isRunning: process.terminal.end === undefined },
    }));
    return [...commands, ...ownTerminals];
  }

  return {
    openCommand,
    running: async () =>
      (await everything()).filter((found) => found.isRunning).map((found) => found.process),
    async find(selector, which) {
      const known = await findRecent(selector);
      if (known !== undefined) return known;
      const matches = (await everything())
        .filter((found) => isMeant(selector, found.process))
        .sort((a, b) => Number(b.isRunning) - Number(a.isRunning) || b.startedAtMs - a.startedAtMs);
      const [first] = which === "any" ? matches : matches.filter((found) => found.isRunning);
      if (first === undefined) throw notFound(`no process ${describe(selector)} runs here`);
      return first.process;
    },
    addTerminal(process) {
      terminals.push({ process, startedAtMs: Date.now() });
      const ended = terminals.filter((row) => row.process.terminal.end !== undefined);
      for (const row of ended.slice(0, Math.max(0, ended.length - endedTerminalsMax)))
        terminals.splice(terminals.indexOf(row), 1);
    },
  };
}

function toFound(openCommand: OpenCommand, execution: Execution): readonly Found[] {
  const config: ProcessConfig | undefined = readLabel(execution);
  if (config === undefined) return [];
  const process = openCommand(execution, config);
  return [{ process, isRunning: isRunningNow(execution), startedAtMs: Number(execution.acceptedAtMs) }];
}

/** Between the claim and the start there is no process yet: nothing that could be named by a pid, or signalled. */
function isRunningNow(execution: Execution): boolean {
  return execution.state === ExecutionState.RUNNING && execution.pid !== 0;
}

function isMeant(selector: ProcessSelector | undefined, process: RunningProcess): boolean {
  const asked = selector?.selector;
  switch (asked?.case) {
    case "pid":
      return process.pid === asked.value && asked.value !== 0;
    case "tag":
      return process.config.tag === asked.value && asked.value !== "";
    case undefined:
      throw invalid("a process is named by its pid or its tag");
  }
}

function describe(selector: ProcessSelector | undefined): string {
  const asked = selector?.selector;
  return asked?.case === "tag"
    ? `with the tag ${JSON.stringify(asked.value.slice(0, 64))}`
    : `${asked?.value ?? ""}`;
}
