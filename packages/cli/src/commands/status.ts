/** `sand status`: whether a host answers, what it is doing, and where its things are. */

import { countCommands, listRunningTerminals } from "../attach/running-terminals.ts";
import { fieldsOf } from "../chat/feed-event.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { type AgentRow, listAgentRows } from "../gateway/agent-rows.ts";
import type { GatewayLocation } from "../gateway/find-gateway.ts";
import { createGatewayAccess, requireHealth } from "../gateway/gateway-access.ts";
import { askDaemon, type DaemonState } from "../local-host/exec-daemon.ts";
import { oneLine } from "../plain-text.ts";

export const statusCommand: Command = {
  name: "status",
  summary: "show whether a host runs and what it is doing",
  usage: "status [--env]",
  options: {
    env: { type: "boolean", about: "print the gateway's URL and token for a shell; the token is a secret" },
  },
  examples: ["sand status", "sand status --json | jq .busy", 'eval "$(sand status --env)"'],
  words: [0, 0],
  run: status,
};

async function status(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal, dataRoot } = context;
  const client = createGatewayAccess(context).client();
  const health = await requireHealth(client);
  if (input.flag("env")) return printEnvironment(context, client.location);
  const agents = await listAgentRows(client);
  const about = fieldsOf(await client.call("getHostStatus", {}));
  const local = client.location.source === "environment" ? undefined : await askDaemon(dataRoot);
  const report = {
    url: client.location.url,
    pid: health.pid,
    startedAt: health.startedAt,
    version: typeof about.hostVersion === "string" ? about.hostVersion : null,
    busy: health.isBusy,
    agents: agents.length,
    running: agents.filter((agent) => agent.isRunning).map((agent) => agent.id),
    daemon: local === undefined ? null : await reportDaemon(context, local),
  };
  terminal.result(report);
  const row = (name: string, value: string): void =>
    terminal.line(`  ${terminal.paint("dim", name.padEnd(8))} ${value}`);
  terminal.line(terminal.paint("green", health.isBusy ? "The host is busy." : "The host is idle."));
  row("gateway", report.url);
  row(
    "host",
    `pid ${report.pid}, version ${report.version ?? "unknown"}, up ${duration(Date.now() - report.startedAt)}`,
  );
  if (client.location.source !== "environment") row("data", dataRoot);
  if (client.location.source === "discovery") row("daemon", describeDaemon(report.daemon));
  row("agents", describeAgents(agents, terminal.columns));
  return "ok";
}

/** For `eval`: the one place where a token is printed, and only because it was asked for. */
function printEnvironment({ terminal }: CommandContext, location: GatewayLocation): ExitName {
  const variables = {
    SAND_HOST_GATEWAY_URL: location.url,
    ...(location.token === undefined ? {} : { SAND_HOST_GATEWAY_TOKEN: location.token }),
  };
  terminal.result(variables);
  for (const [name, value] of Object.entries(variables)) {
    terminal.line(`export ${name}='${value.replaceAll("'", "'\\''")}'`);
  }
  return "ok";
}

interface DaemonReport {
  readonly pid: number;
  /** null: it doesn't say */
  readonly runningCommands: number | null;
  readonly runningTerminals: number | null;
}

async function reportDaemon(
  context: CommandContext,
  { identity, running }: DaemonState,
): Promise<DaemonReport> {
  const terminals = await listRunningTerminals(context, running);
  return {
    pid: identity.pid,
    runningCommands: running === undefined ? null : countCommands(running),
    runningTerminals: running === undefined ? null : terminals.length,
  };
}

function describeDaemon(daemon: DaemonReport | null): string {
  if (daemon === null) return "not running; it starts when it is needed";
  const terminals = daemon.runningTerminals ? `, terminals: ${daemon.runningTerminals}` : "";
  return `pid ${daemon.pid}, running commands: ${daemon.runningCommands ?? "unknown"}${terminals}`;
}

function describeAgents(agents: readonly AgentRow[], columns: number): string {
  if (agents.length === 0) return "none yet; sand chat makes one";
  const running = agents.filter((agent) => agent.isRunning);
  const names = running.length === 0 ? "" : `: ${running.map((agent) => agent.name).join(", ")}`;
  return oneLine(`${agents.length}, ${running.length} running${names}`, Math.max(20, columns - 12));
}

export function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
