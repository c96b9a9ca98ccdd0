/** Makes an agent, or deletes one with all that it has. */
import { CommandFailure } from "../command-failure.ts";
import { createAgent, listAgentRows, requireAgent } from "../gateway/agent-rows.ts";
import { oneLine } from "../plain-text.ts";
import type { ActionInput } from "./agent-action.ts";

const nameMaxChars = 80;

export async function createNewAgent({ terminal, client, input, words }: ActionInput): Promise<void> {
  const [name = ""] = words;
  const title = input.text("title");
  const hasNamesake = (await listAgentRows(client)).some((row) => row.name === name);
  const agent = await createAgent(client, name, input.text("description") ?? "", title);
  terminal.result(agent.fields);
  terminal.line(`Created ${terminal.paint("bold", oneLine(agent.name, nameMaxChars))} (${agent.id}).`);
  if (hasNamesake) terminal.note("! another agent is called that too: name both by their ids, or rename one");
}

export async function removeAgent({ terminal, client, input, words }: ActionInput): Promise<void> {
  const [word = ""] = words;
  const agent = await requireAgent(client, word);
  const name = oneLine(agent.name, nameMaxChars);
  if (!input.flag("yes")) {
    throw new CommandFailure("usage", `this deletes "${name}" and all its history`, {
      hint: "add --yes to do it",
    });
  }
  await client.call("deleteAgent", { id: agent.id });
  terminal.result({ deleted: agent.id });
  terminal.line(`Deleted ${name} (${agent.id}).`);
}
