/**
 * `sand import`: an agent from an archive, under a new id.
 *
 * The agent is whole before it gets its place, so a host that runs may be told of it afterwards: any command about it
 * makes the host take it up. One that couldn't be told finds it at its next start.
 */
import { resolve } from "node:path";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { findGateway } from "../gateway/find-gateway.ts";
import { createGatewayClient } from "../gateway/gateway-client.ts";
import { askOffline } from "../offline/offline-process.ts";
import { oneLine } from "../plain-text.ts";

const nameMaxChars = 80;

export const importCommand: Command = {
  name: "import",
  summary: "make an agent from an archive, under a new id",
  usage: "import <file> [options]",
  details: [
    "Everything in the archive is checked before anything is installed, and it is installed at once. A host may run",
    "meanwhile. The new agent goes on where the archive ends; what was under way there isn't run.",
  ].join("\n"),
  options: { name: { type: "string", value: "<name>", about: "another name than the archive's" } },
  examples: ["sand import main.sand.tgz", "sand import main.sand.tgz --name 'main of the laptop'"],
  words: [1, 1],
  run: importAgent,
};

async function importAgent(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal, dataRoot: root, currentFolder } = context;
  const file = resolve(currentFolder, input.words[0] ?? "");
  const name = input.text("name") ?? null;
  const answer = await askOffline(context, { kind: "import-agent", root, file, name });
  if (answer.kind !== "imported") return "failed";
  const { agentId, facts } = answer;
  const isShown = await showToHost(context, agentId);
  terminal.result({ ...answer, isShown });
  const shown = terminal.paint("bold", oneLine(name ?? facts.name, nameMaxChars));
  terminal.line(`Imported ${shown} (${agentId}): ${facts.entries} entries, ${facts.turns} turns.`);
  if (!isShown) terminal.note("  no host was told of it; one finds it when it starts");
  return "ok";
}

async function showToHost({ config, dataRoot }: CommandContext, agentId: string): Promise<boolean> {
  const location = findGateway(config, dataRoot);
  if (location === undefined) return false;
  try {
    const client = createGatewayClient(location);
    await client.call("setAgentUnread", { id: agentId, isUnread: false });
    return true;
  } catch {
    // The host is down, or is another data root's. The agent is there all the same.
    return false;
  }
}
