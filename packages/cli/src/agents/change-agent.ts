/** What can be changed about an agent: each action is one command of the gateway and one sentence about it. */
import type { JsonObject } from "@sand/protocol";
import { CommandFailure } from "../command-failure.ts";
import { type AgentRow, requireAgent } from "../gateway/agent-rows.ts";
import { oneLine } from "../plain-text.ts";
import type { ActionInput, AgentAction } from "./agent-action.ts";

interface Change {
  readonly command: string;
  readonly body: JsonObject;
  /** what is true of the agent afterwards */
  readonly told: string;
}

const nameMaxChars = 80;

export const changeActions: Readonly<Record<string, AgentAction>> = {
  rename: change("<agent> <name>", (agent, { words: [, name = ""] }) => changeProfile(agent, { name })),
  update: change("<agent>", (agent, { input }) => {
    const wanted = ["name", "description", "title"].flatMap((field) => {
      const text = input.text(field);
      return text === undefined ? [] : [[field, text] as const];
    });
    if (wanted.length === 0)
      throw new CommandFailure("usage", "there is nothing to change", {
        hint: "give --name, --description or --title",
      });
    return changeProfile(agent, Object.fromEntries(wanted));
  }),
  open: change("<agent>", () => ({
    command: "openAgentTail",
    body: { limit: 1 },
    told: "is the active agent",
  })),
  read: change("<agent>", () => switchTo("setAgentUnread", { isUnread: false }, "is read")),
  unread: change("<agent>", () => switchTo("setAgentUnread", { isUnread: true }, "is unread")),
  hide: change("<agent>", () => switchTo("setAgentHiddenFromSidebar", { isHidden: true }, "is hidden")),
  unhide: change("<agent>", () => switchTo("setAgentHiddenFromSidebar", { isHidden: false }, "is shown")),
  notifications: change("<agent> <on|off>", (_agent, { input, words: [, state = ""] }) => {
    if (state !== "on" && state !== "off")
      throw new CommandFailure("usage", `notifications are on or off, not "${state}"`);
    const isEnabled = state === "on";
    return input.flag("updates")
      ? switchTo("setAgentNotifyOnUpdates", { isEnabled }, `has notifications about updates ${state}`)
      : switchTo("setAgentNotificationsEnabled", { isEnabled }, `has notifications ${state}`);
  }),
};

function change(words: string, plan: (agent: AgentRow, given: ActionInput) => Change): AgentAction {
  return {
    words,
    run: async (given) => {
      const { client, terminal } = given;
      const agent = await requireAgent(client, given.words[0] ?? "");
      const { command, body, told } = plan(agent, given);
      await client.call(command, { id: agent.id, ...body });
      const after = await requireAgent(client, agent.id);
      terminal.result(after.fields);
      terminal.line(`${terminal.paint("bold", oneLine(after.name, nameMaxChars))} ${told}.`);
    },
  };
}

function switchTo(command: string, body: JsonObject, told: string): Change {
  return { command, body, told };
}

/** Name and description always travel together, so that what isn't changed is sent as it stands. */
function changeProfile(agent: AgentRow, wanted: JsonObject): Change {
  const { description } = agent.fields;
  const profile = {
    name: agent.name,
    description: typeof description === "string" ? description : "",
    ...wanted,
  };
  return { command: "updateAgent", body: { profile }, told: `(${agent.id}) is changed` };
}
