/** Brings the host up as a process of this machine: detached with a log file, or attached to this terminal. */

import { once } from "node:events";
import { closeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@sand/protocol";
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { Secrets } from "../config.ts";
import { resolveWorkspace } from "../data-root.ts";
import type { ExitName } from "../exit-codes.ts";
import { awaitHost, type LiveHost } from "./await-host.ts";
import { describeModel } from "./describe-model.ts";
import { daemonTokenName, findDaemon } from "./exec-daemon.ts";
import { keepToken, mintToken } from "./keep-token.ts";
import { type HostProgram, locateHost } from "./locate-programs.ts";
import { describeProbe, probeSandbox, sandboxHint } from "./probe-sandbox.ts";
import { reportHost } from "./report-host.ts";
import { openFreshLog, readLogTail } from "./rotate-log.ts";
import { spawnHost } from "./spawn-host.ts";

export interface HostChoice {
  readonly port: number;
  readonly sandbox: string;
  /** by this program's own rules when absent */
  readonly workspace?: string;
  /** the host that gives way to this one, and whose token stays */
  readonly replaces?: LiveHost;
}

export interface LocalChoice extends HostChoice {
  /** why it isn't a container */
  readonly why: string;
  readonly clock: Clock;
}

const startDeadlineMs = 60_000;
/** the one before may take its time to come to a boundary, and then to end */
const replaceDeadlineMs = 150_000;
const stopForegroundSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const shownLogLines = 12;

interface HostPlan {
  readonly program: HostProgram;
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
}

export async function bringUpLocally(context: CommandContext, choice: LocalChoice): Promise<ExitName> {
  const { terminal, dataRoot } = context;
  const plan = planHost(context, choice);
  const notes = await findConcerns(context, choice);
  terminal.note(`${choice.why}: the host runs as a local process (${plan.program.kind})`);
  const logPath = join(dataRoot, "logs", "host.log");
  const log = openFreshLog(logPath);
  const takeOver = choice.replaces !== undefined;
  const deadlineMs = takeOver ? replaceDeadlineMs : startDeadlineMs;
  const spawned = spawnHost({ ...plan, cwd: dataRoot, output: log, takeOver });
  const child = await spawned.finally(() => closeSync(log));
  let ended = false;
  child.once("exit", () => {
    ended = true;
  });
  const start = await awaitHost({
    dataRoot,
    pid: child.pid ?? 0,
    hasEnded: () => ended,
    clock: choice.clock,
    deadlineMs,
    onWait: (waitedMs) => terminal.note(`still waiting for the host, ${Math.round(waitedMs / 1000)} s …`),
  });
  if (start.kind !== "ready")
    throw describeFailedStart(start.kind, { logPath, pid: child.pid ?? 0, deadlineMs });
  child.unref();
  reportHost(context, {
    ...start,
    began: takeOver ? "upgraded" : "started",
    box: `local processes: ${choice.why}`,
    workspace: plan.workspace,
    sandbox: choice.sandbox,
    notes,
  });
  return "ok";
}

/** The host's fate is ours: its signals are passed on, and its exit status decides. */
export async function runInForeground(context: CommandContext, choice: HostChoice): Promise<ExitName> {
  for (const concern of await findConcerns(context, choice)) context.terminal.note(`! ${concern}`);
  const child = await spawnHost({ ...planHost(context, choice), cwd: context.dataRoot, output: "inherit" });
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of stopForegroundSignals) process.on(signal, passOn);
  try {
    await once(child, "exit");
  } finally {
    for (const signal of stopForegroundSignals) process.off(signal, passOn);
  }
  return child.exitCode === 0 || child.signalCode !== null ? "ok" : "failed";
}

function planHost(context: CommandContext, choice: HostChoice): HostPlan {
  const { config, dataRoot } = context;
  const { problem } = describeModel(config);
  if (problem !== undefined) {
    throw new CommandFailure("usage", problem, {
      hint: "or set SAND_INFERENCE_PROVIDER=offline to go on without",
    });
  }
  const workspace = choice.workspace ?? resolveWorkspace(config, context.currentFolder);
  const keptToken = choice.replaces?.location.token;
  return {
    program: locateHost(context.programPath),
    workspace,
    environment: {
      ...config.childEnvironment,
      SAND_DATA_ROOT: dataRoot,
      SAND_BOX_WORKSPACE_ROOT: workspace,
      SAND_HOST_PORT: String(choice.port),
      SAND_SANDBOX: choice.sandbox,
    },
    secrets: {
      ...config.secrets,
      SAND_GATEWAY_TOKEN:
        config.secrets.SAND_GATEWAY_TOKEN ?? keptToken ?? keepToken(join(dataRoot, "gateway.token")),
      SAND_BOX_EXEC_DAEMON_AUTH_TOKEN:
        config.secrets.SAND_BOX_EXEC_DAEMON_AUTH_TOKEN ?? chooseDaemonToken(dataRoot),
    },
  };
}

/** A fresh one at each start, unless a daemon that outlived its host still goes by the old one. */
function chooseDaemonToken(dataRoot: string): string {
  const path = join(dataRoot, daemonTokenName);
  return findDaemon(dataRoot) === undefined ? mintToken(path) : keepToken(path);
}

async function findConcerns(context: CommandContext, choice: HostChoice): Promise<string[]> {
  const { config } = context;
  const concerns: string[] = [];
  if (choice.replaces !== undefined && describeModel(config).provider === "offline") {
    concerns.push(
      "this shell has no model's key, so the host goes on offline; with the key set, upgrade again",
    );
  }
  if (choice.sandbox === "off") {
    concerns.push(
      "commands of agents run without a fence, with your own rights: they can read all that you can",
    );
  } else {
    const probe = await probeSandbox(config.childEnvironment);
    if (probe.kind !== "works") {
      const effect =
        choice.sandbox === "required" ? "commands will be refused" : "commands run without a fence";
      concerns.push(`${describeProbe(probe)}, so ${effect}; ${sandboxHint}`);
    }
  }
  return concerns;
}

interface FailedStart {
  readonly logPath: string;
  readonly pid: number;
  readonly deadlineMs: number;
}

function describeFailedStart(
  kind: "ended" | "late",
  { logPath, pid, deadlineMs }: FailedStart,
): CommandFailure {
  const tail = readLogTail(logPath, shownLogLines);
  const told =
    tail.length === 0
      ? "it wrote no log"
      : `the end of ${logPath}:\n${tail.map((line) => `  ${line}`).join("\n")}`;
  const what =
    kind === "ended"
      ? "the host ended while starting"
      : `the host (pid ${pid}) didn't answer within ${deadlineMs / 1000} s`;
  return new CommandFailure("failed", `${what}; ${told}`, {
    hint: "sand doctor looks for the usual causes; another port: sand up --port 0",
  });
}
