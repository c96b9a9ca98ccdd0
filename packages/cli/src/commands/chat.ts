/** `sand chat`: talk to an agent. The agent is made when it doesn't exist yet. */
import { systemClock } from "@sand/node-kit";
import { chatByHand, createChatScreen } from "../chat/chat-by-hand.ts";
import { chatFromInput } from "../chat/chat-from-input.ts";
import { openConversation } from "../chat/conversation.ts";
import type { FeedEntry } from "../chat/feed-event.ts";
import { createFeedRenderer } from "../chat/render-feed.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import type { ExitName } from "../exit-codes.ts";
import { type AgentRow, ambiguous, chooseAgent, createAgent, listAgentRows } from "../gateway/agent-rows.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";
import type { GatewayClient } from "../gateway/gateway-client.ts";
import { oneLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

export const chatCommand: Command = {
  name: "chat",
  summary: "talk to an agent",
  usage: "chat [agent] [options]",
  details: [
    'Without a name it is the active agent, or "main". A name that no agent has makes a new one.',
    "With a file or a pipe as input each line is a prompt, and the command ends after the last turn.",
    "Ctrl-C interrupts the running turn, a second one leaves; a pasted text is one prompt.",
  ].join("\n"),
  options: {},
  examples: ["sand chat", "sand chat reviewer", "printf 'run `date`\\n' | sand chat main"],
  words: [0, 1],
  run: chat,
};

const firstAgentName = "main";
const shownEarlier = 6;

async function chat(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const access = createGatewayAccess(context);
  const { agent, isNew } = await chooseOrCreate(access.client(), input.words[0]);
  const byHand = process.stdin.isTTY === true && terminal.isTty && !terminal.json;
  const screen = createChatScreen(terminal);
  const conversation = await openConversation({
    terminal,
    access,
    agentId: agent.id,
    clock: systemClock,
    ...(byHand ? { print: screen.print, onRunning: screen.onRunning } : {}),
  });
  try {
    if (!byHand) return await chatFromInput(conversation, terminal);
    terminal.line(
      terminal.paint(
        "dim",
        `talking to ${oneLine(agent.name, 60)}${isNew ? ", a new agent," : ""} at ${access.client().location.url}; /help helps`,
      ),
    );
    showEarlier(terminal, conversation.earlier);
    return await chatByHand({ terminal, conversation, screen });
  } finally {
    await conversation.close();
  }
}

async function chooseOrCreate(
  client: GatewayClient,
  word: string | undefined,
): Promise<{ readonly agent: AgentRow; readonly isNew: boolean }> {
  const rows = await listAgentRows(client);
  if (word === undefined) {
    const known = rows.find((row) => row.isActive) ?? rows[0];
    return known === undefined ? createNew(client, firstAgentName) : { agent: known, isNew: false };
  }
  const choice = chooseAgent(rows, word);
  switch (choice.kind) {
    case "one":
      return { agent: choice.agent, isNew: false };
    case "many":
      throw ambiguous(word, choice.agents);
    case "none":
      return createNew(client, word);
  }
}

async function createNew(
  client: GatewayClient,
  name: string,
): Promise<{ readonly agent: AgentRow; readonly isNew: boolean }> {
  return { agent: await createAgent(client, name, ""), isNew: true };
}

function showEarlier(terminal: Terminal, entries: readonly FeedEntry[]): void {
  const renderer = createFeedRenderer({ paint: terminal.paint, isOwnNonce: () => false });
  for (const entry of entries.slice(-shownEarlier)) terminal.write(renderer.render({ kind: "entry", entry }));
}
