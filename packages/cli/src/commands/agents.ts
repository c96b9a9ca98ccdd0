/** `sand agents`: which agents there are, and everything that can be set about one. */

import type { AgentAction } from "../agents/agent-action.ts";
import { changeActions } from "../agents/change-agent.ts";
import { createNewAgent, removeAgent } from "../agents/make-agent.ts";
import { listAgents, showAgent } from "../agents/show-agents.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";

const actions: Readonly<Record<string, AgentAction>> = {
  list: { words: "", run: listAgents },
  show: { words: "<agent>", run: showAgent },
  create: { words: "<name>", run: createNewAgent },
  ...changeActions,
  delete: { words: "<agent>", run: removeAgent },
};

export const agentsCommand: Command = {
  name: "agents",
  summary: "list, create, change or delete agents",
  usage: "agents [<action> [<agent>] …] [options]",
  details: [
    "Actions:",
    ...Object.entries(actions).map(([name, { words }]) => `  ${name} ${words}`.trimEnd()),
    "",
    "An agent is named by its id or its name. `open` makes it the active one, which `sand chat`",
    "without a name talks to. Changes print the agent as it is afterwards with --json.",
  ].join("\n"),
  options: {
    name: { type: "string", value: "<name>", about: "update: another name" },
    description: { type: "string", value: "<text>", about: "create, update: what the agent is for" },
    title: { type: "string", value: "<text>", about: "create, update: its title" },
    updates: { type: "boolean", about: "notifications: those about updates, instead of all" },
    all: { type: "boolean", short: "a", about: "list: hidden ones too" },
    yes: { type: "boolean", short: "y", about: "delete: really" },
  },
  examples: [
    "sand agents",
    "sand agents create reviewer --description 'reads diffs'",
    "sand agents rename reviewer critic",
    "sand agents update critic --title 'Critic' --description 'reads diffs, and says so'",
    "sand agents notifications critic off",
    "sand agents delete critic --yes",
  ],
  words: [0, 3],
  actions: Object.keys(actions),
  run: agents,
};

async function agents(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const [name = "list", ...words] = input.words;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    throw new CommandFailure("usage", `sand agents can't "${name}"`, { hint: "see sand agents --help" });
  }
  if (words.length !== (action.words === "" ? 0 : action.words.split(" ").length)) {
    throw new CommandFailure("usage", `usage: sand agents ${name} ${action.words}`.trimEnd(), {
      hint: "see sand agents --help",
    });
  }
  const client = createGatewayAccess(context).client();
  await action.run({ terminal: context.terminal, client, input, words });
  return "ok";
}
