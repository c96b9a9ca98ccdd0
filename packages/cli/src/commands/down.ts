/**
 * `sand down`: ends the host, then its execution daemon. Running commands outlive a host on purpose, so a daemon that
 * still runs some is left alone unless `--force` is given. Nothing is signalled that wasn't identified.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@sand/node-kit";
import { createRunDocker } from "../box-container/run-docker.ts";
import { boxContainer, stopBox } from "../box-container/start-box.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { containerFileName, readJson } from "../gateway/find-gateway.ts";
import { askDaemon, endCommands } from "../local-host/exec-daemon.ts";
import { identifyHost } from "../local-host/identify-host.ts";
import { type StopOutcome, stopProcess } from "../local-host/stop-process.ts";

export const downCommand: Command = {
  name: "down",
  summary: "stop the host, and its execution daemon once no command runs",
  usage: "down [--force]",
  options: {
    force: { type: "boolean", about: "end what doesn't end by itself, and commands that still run" },
  },
  examples: ["sand down", "sand down --force"],
  words: [0, 0],
  run: down,
};

const hostGraceMs = 20_000;
const daemonGraceMs = 10_000;

interface DownReport {
  readonly host: StopOutcome | "not-running" | "container-stopped";
  readonly daemon: StopOutcome | "not-running" | "kept";
  readonly runningCommands?: number;
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
  const count = daemon.running === undefined ? {} : { runningCommands: daemon.running.length };
  // Commands live on without their daemon, but nobody would watch them: so it stays, unless that is asked for.
  if (!force && daemon.running?.length !== 0) return { daemon: "kept", ...count };
  if (force) await endCommands(daemon, context.dataRoot, systemClock);
  const outcome = await stopProcess(daemon.identity, { clock: systemClock, graceMs: daemonGraceMs, force });
  return { daemon: outcome, ...count };
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
    const count = report.runningCommands;
    const what = count === undefined ? "doesn't say whether commands run" : `still runs ${countOf(count)}`;
    lines.push(`The execution daemon ${what}, so it was left running; end both with sand down --force.`);
  } else if (report.daemon !== "not-running") {
    lines.push(
      report.daemon === "still-running"
        ? "The execution daemon didn't end; try --force."
        : "The execution daemon has ended.",
    );
  }
  return lines;
}

function countOf(commands: number): string {
  return commands === 1 ? "1 command" : `${commands} commands`;
}
