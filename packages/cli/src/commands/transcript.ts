/** `sand transcript`: what was said and done, from the newest entries to all of them, and what follows. */
import { systemClock } from "@sand/node-kit";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { requireAgent } from "../gateway/agent-rows.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";
import { readCount } from "../read-count.ts";
import { followTranscript } from "../transcript/follow-transcript.ts";
import { readAllPages, readPage } from "../transcript/transcript-pages.ts";
import { createTranscriptView } from "../transcript/transcript-view.ts";

export const transcriptCommand: Command = {
  name: "transcript",
  summary: "show an agent's transcript",
  usage: "transcript <agent> [options]",
  details: [
    "Oldest entry first. With --json each entry is one document, as the gateway has it: with its time,",
    "its `seq` (what --before takes) and its state. A followed entry that changes comes again.",
  ].join("\n"),
  options: {
    limit: {
      type: "string",
      value: "<n>",
      short: "n",
      about: "the newest n entries (default 50, at most 5000)",
    },
    before: { type: "string", value: "<seq>", about: "only entries before this one" },
    all: { type: "boolean", short: "a", about: "every entry" },
    follow: { type: "boolean", short: "f", about: "stay, and show what is added" },
  },
  examples: [
    "sand transcript main",
    "sand transcript main --follow",
    "sand transcript main --all --json > main.jsonl",
    "sand transcript main --limit 20 --before 1200",
  ],
  words: [1, 1],
  run: transcript,
};

const limitDefault = 50;
const limitMax = 5_000;

async function transcript(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const limit = readCount("limit", input.text("limit"), { least: 1, most: limitMax });
  const before = readCount("before", input.text("before"), { least: 0 });
  if (input.flag("all") && limit !== undefined)
    throw new CommandFailure("usage", "--all and --limit exclude each other");
  if (input.flag("follow") && before !== undefined)
    throw new CommandFailure("usage", "--follow and --before exclude each other");
  const access = createGatewayAccess(context);
  const { id: agentId } = await requireAgent(access.client(), input.words[0] ?? "");
  const of = { client: access.client(), agentId };
  const view = createTranscriptView(terminal);
  if (input.flag("all")) {
    for await (const entries of readAllPages(of, before)) for (const entry of entries) view.entry(entry);
  } else {
    const page = await readPage(of, limit ?? limitDefault, before);
    if (page.nextBeforeSeq !== undefined)
      terminal.line(terminal.paint("dim", `… there is more: --before ${page.nextBeforeSeq}, or --all`));
    for (const entry of page.entries) view.entry(entry);
  }
  if (input.flag("follow")) await followTranscript({ access, agentId, clock: systemClock, terminal, view });
  return "ok";
}
