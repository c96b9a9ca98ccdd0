/**
 * `sand down`: ends the host, then its execution daemon. Running commands outlive a host on purpose, so a daemon that
 * still runs some, or a terminal, is left alone and named unless `--force`
 * is given. Nothing is signalled that wasn't identified.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { countCommands, listRunningTerminals, type RunningTerminal } from "../attach/running-terminals.ts";
import { createRunDocker } from "../box-container/run-docker.ts";
import { boxContainer, stopBox } from "../box-container/start-box.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { containerFileName, readJson } from "../gateway/find-gateway.ts";
import { askDaemon, endCommands } from "../local-host/exec-daemon.ts";
import { identifyHost } from "../local-host/identify-host.ts";
import { type StopOutcome, stopProcess } from "../local-host/stop-process.ts";
import { oneLine } from "../plain-text.ts";

export const downCommand: Command = {
  name: "down",
  summary: "stop the host, and its execution daemon once nothing runs there",
  usage: "down [--force]",
  options: {
    force: {
      type: "boolean",
      about: "end what doesn't end by itself, and commands and terminals that still run",
    },
  },
  examples: ["sand down", "sand down --force"],
  words: [0, 0],
  run: down,
};

const hostGraceMs = 20_000;
const commandMaxChars = 60;
const daemonGraceMs = 10_000;

interface DownReport {
  readonly host: StopOutcome | "not-running" | "container-stopped";
  readonly daemon: StopOutcome | "not-running" | "kept";
  readonly runningCommands?: number;
  /** absent: none runs */
  readonly runningTerminals?: readonly RunningTerminal[];
}

async function down(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const force = input.flag("force");
  const host = await stopHost(context, force);
  if (host === "still-running") {
    throw new CommandFailure("failed", `the host didn't end within ${hostGraceMs / 1000} s`, {
      hint: "sand down --force",
    });
  }
  const report: DownReport = { host, ...(await stopDaemon(context, force)) };
  context.terminal.result(report);
  for (const line of describeDown(report)) context.terminal.line(line);
  return report.host === "not-running" && report.daemon === "not-running" ? "notRunning" : "ok";
}

async function stopHost(context: CommandContext, force: boolean): Promise<DownReport["host"]> {
  const { dataRoot, config } = context;
  const found = await identifyHost(dataRoot);
  if (found.kind === "host") {
    if (!found.answers) context.terminal.note("the host doesn't answer; it is asked to end all the same");
    return stopProcess(found.identity, { clock: systemClock, graceMs: hostGraceMs, force });
  }
  const container = join(dataRoot, containerFileName);
  if (readJson(container) === undefined) return "not-running";
  if (!(await stopBox(createRunDocker(config.childEnvironment)))) return "not-running";
  await rm(container, { force: true });
  return "container-stopped";
}

async function stopDaemon(context: CommandContext, force: boolean): Promise<Omit<DownReport, "host">> {
  const daemon = await askDaemon(context.dataRoot);
  if (daemon === undefined) return { daemon: "not-running" };
  const terminals = await listRunningTerminals(context, daemon.running);
  const commands = countCommands(daemon.running ?? []);
  const work = {
    ...(daemon.running === undefined ? {} : { runningCommands: commands }),
    ...(terminals.length === 0 ? {} : { runningTerminals: terminals }),
  };
  // Commands live on without their daemon, but nobody would watch them, and somebody may sit at a terminal: so it
  // stays, unless its end is asked for.
  const isIdle = daemon.running !== undefined && commands + terminals.length === 0;
  if (!force && !isIdle) return { daemon: "kept", ...work };
  if (force) await endCommands(daemon, context.dataRoot, systemClock);
  const outcome = await stopProcess(daemon.identity, { clock: systemClock, graceMs: daemonGraceMs, force });
  return { daemon: outcome, ...work };
}

const hostLines: Readonly<Record<DownReport["host"], string>> = {
  stopped: "The host has ended.",
  "was-gone": "The host had ended already.",
  killed: "The host didn't end by itself and was killed; what was committed is safe.",
  "still-running": "The host still runs.",
  "not-running": "No host was running.",
  "container-stopped": `The container ${boxContainer} is stopped.`,
};

function describeDown(report: DownReport): string[] {
  const lines = [hostLines[report.host]];
  if (report.daemon === "kept") {
    lines.push(`The execution daemon ${describeWork(report)}, so it was left running.`);
    for (const { id, command } of report.runningTerminals ?? [])
      lines.push(`  sand attach ${id}   ${oneLine(command, commandMaxChars)}`.trimEnd());
    lines.push("sand down --force ends all of it.");
  } else if (report.daemon !== "not-running") {
    lines.push(
      report.daemon === "still-running"
        ? "The execution daemon didn't end; try --force."
        : "The execution daemon has ended.",
    );
  }
  return lines;
}

function describeWork({ runningCommands, runningTerminals = [] }: DownReport): string {
  if (runningCommands === undefined) return "doesn't say whether commands run";
  const parts = [countOf(runningCommands, "command"), countOf(runningTerminals.length, "terminal")];
  return `still runs ${parts.filter((part) => part !== "").join(" and ")}`;
}

function countOf(count: number, what: string): string {
  if (count === 0) return "";
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}
