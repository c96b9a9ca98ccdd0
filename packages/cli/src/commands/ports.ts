/** `sand ports`: which ports of the box something listens on, and whose they are. */

import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { callDaemon } from "../local-host/call-daemon.ts";
import { locateDaemon } from "../local-host/locate-daemon.ts";
import { noDaemon } from "../local-host/no-daemon.ts";
import { oneLine } from "../plain-text.ts";
import { readPortRows } from "../ports/port-rows.ts";

export const portsCommand: Command = {
  name: "ports",
  summary: "list the ports that commands listen on",
  usage: "ports [options]",
  details: [
    "Ports of agents' commands, of `sand exec` and of MCP servers, each with the program that holds it",
    "and whose it is. What listens in a network of its own can't be reached and isn't listed.",
  ].join("\n"),
  options: {
    all: { type: "boolean", short: "a", about: "also Sand's own and those of any other program" },
  },
  examples: ["sand ports", "sand ports --all", "sand ports --json | jq .port"],
  words: [0, 0],
  run: ports,
};

/** a daemon that isn't there yet is started for it */
const askTimeoutMs = 45_000;
const programMaxChars = 20;

async function ports(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const address = locateDaemon(context);
  if (address === undefined) throw noDaemon();
  const all = input.flag("all");
  const rows = readPortRows(
    await callDaemon({
      ...address,
      service: "Control",
      method: "ListeningPorts",
      body: { all },
      timeoutMs: askTimeoutMs,
    }),
  );
  for (const row of rows) {
    terminal.result(row);
    const program = oneLine(row.program || "?", programMaxChars).padEnd(programMaxChars);
    const pid = row.pid === 0 ? "" : `pid ${row.pid}`;
    const line = [program, pid.padEnd(11), oneLine(row.addresses.join(", "), 40).padEnd(16), row.owner];
    terminal.line(`${terminal.paint("bold", String(row.port).padStart(5))}  ${line.join("  ").trimEnd()}`);
  }
  if (rows.length === 0)
    terminal.line(all ? "Nothing listens." : "No command listens. With --all every listening port is shown.");
  return "ok";
}
