/** `sand agents`: lists, makes and deletes agents. */
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { createAgent, listAgentRows, requireAgent } from "../gateway/agent-rows.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";
import type { GatewayClient } from "../gateway/gateway-client.ts";
import { oneLine } from "../plain-text.ts";

export const agentsCommand: Command = {
  name: "agents",
  summary: "list, create or delete agents",
  usage: "agents [list | create <name> | delete <agent>] [options]",
  options: {
    description: { type: "string", value: "<text>", about: "create: what the agent is for" },
    yes: { type: "boolean", short: "y", about: "delete: really" },
  },
  examples: [
    "sand agents",
    "sand agents create reviewer --description 'reads diffs'",
    "sand agents delete reviewer --yes",
  ],
  words: [0, 2],
  run: agents,
};

async function agents(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const client = createGatewayAccess(context).client();
  const [action = "list", word] = input.words;
  if (action === "list" && word === undefined) return list(context, client);
  if (action === "create" && word !== undefined)
    return create(context, client, { name: word, description: input.text("description") ?? "" });
  if (action === "delete" && word !== undefined)
    return remove(context, client, { word, sure: input.flag("yes") });
  throw new CommandFailure("usage", `usage: sand ${agentsCommand.usage}`, { hint: "see sand agents --help" });
}

async function list({ terminal }: CommandContext, client: GatewayClient): Promise<ExitName> {
  const rows = await listAgentRows(client);
  terminal.result(rows.map((row) => row.fields));
  if (rows.length === 0)
    terminal.line("No agents yet. Make one: sand agents create <name>, or just sand chat <name>.");
  const width = Math.max(4, ...rows.map((row) => oneLine(row.name, 24).length));
  for (const row of rows) {
    const state = row.isRunning ? terminal.paint("yellow", "running") : terminal.paint("dim", "idle   ");
    const name = oneLine(row.name, 24).padEnd(width);
    const preview = oneLine(
      row.lastMessagePreview ?? "",
      Math.max(10, terminal.columns - width - row.id.length - 14),
    );
    terminal.line(`${terminal.paint("bold", name)}  ${state}  ${terminal.paint("dim", row.id)}  ${preview}`);
  }
  return "ok";
}

async function create(
  { terminal }: CommandContext,
  client: GatewayClient,
  wanted: { readonly name: string; readonly description: string },
): Promise<ExitName> {
  const agent = await createAgent(client, wanted.name, wanted.description);
  terminal.result(agent.fields);
  terminal.line(`Created ${terminal.paint("bold", oneLine(agent.name, 80))} (${agent.id}).`);
  return "ok";
}

async function remove(
  { terminal }: CommandContext,
  client: GatewayClient,
  wanted: { readonly word: string; readonly sure: boolean },
): Promise<ExitName> {
  const agent = await requireAgent(client, wanted.word);
  if (!wanted.sure) {
    throw new CommandFailure("usage", `this deletes "${oneLine(agent.name, 80)}" and all its history`, {
      hint: "add --yes to do it",
    });
  }
  await client.call("deleteAgent", { id: agent.id });
  terminal.result({ deleted: agent.id });
  terminal.line(`Deleted ${oneLine(agent.name, 80)} (${agent.id}).`);
  return "ok";
}
