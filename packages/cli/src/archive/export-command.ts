/** `sand export`: an agent in one archive. */
import { resolve } from "node:path";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { askOffline } from "../offline/offline-process.ts";
import { oneLine } from "../plain-text.ts";

const nameMaxChars = 80;

export const exportCommand: Command = {
  name: "export",
  summary: "write an agent into one archive",
  usage: "export <agent> <file>",
  details: [
    "The conversation, its journals, the profile and the files of the agent, as they are at one moment; a host may",
    "run meanwhile. What is under way stays behind: an open turn is ended in the archive, waiting prompts aren't in",
    "it. The file is a gzipped tar with checksums, and holds no token. It must not be there yet.",
  ].join("\n"),
  options: {},
  examples: ["sand export main main.sand.tgz"],
  words: [2, 2],
  run: exportAgent,
};

async function exportAgent(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal, dataRoot: root, currentFolder } = context;
  const [agent = "", target = ""] = input.words;
  const file = resolve(currentFolder, target);
  const answer = await askOffline(context, { kind: "export-agent", root, agent, file });
  if (answer.kind !== "exported") return "failed";
  const { name, turns, entries } = answer.facts;
  terminal.result(answer);
  terminal.line(
    `${terminal.paint("bold", oneLine(name, nameMaxChars))} is in ${file}: ${entries} entries, ${turns} turns, ${answer.bytes} bytes.`,
  );
  return "ok";
}
