/** `sand search`: finds what was said, over all agents; and makes the index anew. */
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { listAgentRows } from "../gateway/agent-rows.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";
import { readCount } from "../read-count.ts";
import { followRebuild } from "../search/follow-rebuild.ts";
import { renderHit } from "../search/render-hit.ts";
import { readHits, readSearchStatus } from "../search/search-answers.ts";

export const searchCommand: Command = {
  name: "search",
  summary: "find messages and files in all conversations",
  usage: "search [options] <words> … | search --rebuild",
  details: [
    "Every word must be there, the last one may be a beginning, and quotes hold a phrase together.",
    "Newest first. With --json each hit is one document, as the gateway has it.",
    "",
    "--rebuild makes the index anew from what agents hold, and compares the journals in",
    "agent-transcripts with it. It goes on in the host when it is left with Ctrl-C.",
  ].join("\n"),
  options: {
    files: { type: "boolean", short: "f", about: "files by their name, instead of messages" },
    limit: { type: "string", value: "<n>", short: "n", about: "the newest n hits (default 50, at most 500)" },
    rebuild: { type: "boolean", about: "make the search index anew" },
  },
  examples: [
    "sand search lighthouse",
    `sand search '"exact phrase" begin'`,
    "sand search --files report.pdf",
  ],
  words: [0, Number.POSITIVE_INFINITY],
  run: search,
};

const limitMax = 500;

async function search(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const limit = readCount("limit", input.text("limit"), { least: 1, most: limitMax });
  const query = input.words.join(" ");
  const client = createGatewayAccess(context).client();
  if (input.flag("rebuild")) {
    if (query !== "") throw new CommandFailure("usage", "--rebuild takes no words");
    await client.call("rebuildSearch", {});
    await followRebuild(client, terminal);
    return "ok";
  }
  if (query.trim() === "") {
    throw new CommandFailure("usage", "sand search needs a word", { hint: "see sand search --help" });
  }
  const command = input.flag("files") ? "searchMedia" : "searchAgents";
  const hits = readHits(await client.call(command, { query, ...(limit === undefined ? {} : { limit }) }));
  if (terminal.json) for (const { fields } of hits) terminal.result(fields);
  else {
    const names = new Map((await listAgentRows(client)).map(({ id, name }) => [id, name]));
    for (const hit of hits) terminal.line(renderHit(hit, names.get(hit.agentId) ?? hit.agentId, terminal));
  }
  const status = readSearchStatus(await client.call("getSearchStatus", {}));
  if (status.state !== "ready")
    terminal.note(
      `the index is not whole yet: ${status.agentsDone} of ${status.agentsTotal} agents are in it`,
    );
  return "ok";
}
