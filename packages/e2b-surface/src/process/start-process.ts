/**
 * Start: a command or a terminal, and its events from the first on.
 *
 * The deadline of the call is the life limit of what is started. The keeper has it too, so it holds when this daemon is
 * gone; here KILL goes to the whole tree at that moment, since a client that was told of a timeout takes it for dead.
 * A client that leaves before it was told the pid could never name it again, so then it is ended.
 */
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { ProcessStartRequest } from "@sand/protocol/e2b";
import { checkUser, userOfHeader } from "../choose-user.ts";
import { limits } from "../limits.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import type { SurfaceSettings } from "../surface-settings.ts";
import { type ProcessConfig, writeLabel } from "./process-labels.ts";
import type { ProcessTable } from "./process-table.ts";
import type { RunningProcess } from "./running-process.ts";
import { openTerminalProcess } from "./terminal-process.ts";
import { clampSize } from "./terminal-size.ts";

export interface StartDeps {
  readonly ports: DaemonPorts;
  readonly settings: SurfaceSettings;
  readonly table: ProcessTable;
  /** Runs `work` after `ms`, unless it is stopped before. */
  readonly later: (ms: number, work: () => Promise<void>) => { stop(): void };
}

export interface StartedProcess {
  readonly process: RunningProcess;
  /** It has ended: its life limit is of no use any more. */
  settle(): void;
}

export async function startProcess(
  deps: StartDeps,
  request: ProcessStartRequest,
  context: Pick<HandlerContext, "requestHeader" | "timeoutMs">,
): Promise<StartedProcess> {
  const { account } = deps.ports;
  checkUser(account, userOfHeader(context.requestHeader.get("authorization")));
  const config = parseConfig(request);
  const cwd = resolvePath(config.cwd ?? "", account.home, deps.settings.workdir);
  const lifeMs = toLifeMs(context.timeoutMs());
  const process =
    request.pty === undefined
      ? await startCommand(deps, config, { cwd, lifeMs })
      : await startTerminal(deps, config, { cwd, size: clampSize(request.pty.size) });
  const timer = lifeMs === 0 ? undefined : deps.later(lifeMs, () => process.endOverdue());
  return { process, settle: () => timer?.stop() };
}

function parseConfig(request: ProcessStartRequest): ProcessConfig {
  const { process, tag } = request;
  if (process === undefined || process.cmd === "") throw invalid("there is no command");
  if (process.args.length > limits.argsMax) throw invalid("the command has too many arguments");
  if (tag !== undefined && tag.length > limits.tagMaxChars) throw invalid("the tag is too long");
  return {
    ...{ cmd: process.cmd, args: process.args, envs: process.envs, cwd: process.cwd, tag },
    stdin: request.pty === undefined && (request.stdin ?? true),
  };
}

function toLifeMs(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined || timeoutMs > limits.lifeMaxMs) return 0;
  return Math.max(1, Math.ceil(timeoutMs));
}

function environmentOf(deps: StartDeps, config: ProcessConfig): Record<string, string> {
  const { name, home } = deps.ports.account;
  return { HOME: home, USER: name, LOGNAME: name, ...deps.settings.env, ...config.envs };
}

async function startCommand(
  deps: StartDeps,
  config: ProcessConfig,
  plan: { readonly cwd: string; readonly lifeMs: number },
): Promise<RunningProcess> {
  const { processes } = deps.ports;
  const { execution } = await processes.start({
    processId: `e2b-${randomUUID()}`,
    command: { case: "argv", value: { args: [config.cmd, ...config.args] } },
    cwd: plan.cwd,
    env: environmentOf(deps, config),
    stdin: config.stdin,
    background: true,
    killMs: BigInt(plan.lifeMs),
    labels: writeLabel(config),
  });
  if (execution === undefined) throw new ConnectError("the daemon started nothing", Code.Internal);
  return deps.table.openCommand(execution, config);
}

async function startTerminal(
  deps: StartDeps,
  config: ProcessConfig,
  plan: { readonly cwd: string; readonly size: { readonly cols: number; readonly rows: number } },
): Promise<RunningProcess> {
  const { terminals } = deps.ports;
  if (terminals === undefined) throw new ConnectError("this daemon has no terminals", Code.Unimplemented);
  if (!isAbsolute(plan.cwd)) throw invalid("the folder is no path");
  const terminal = await terminals.spawn({
    argv: [config.cmd, ...config.args],
    env: environmentOf(deps, config),
    ...plan,
  });
  const process = openTerminalProcess(terminal, config);
  deps.table.addTerminal(process);
  return process;
}
