/** The roster as a list, and one agent in detail with what it is doing. */
import { fieldsOf } from "../chat/feed-event.ts";
import { type AgentRow, listAgentRows, requireAgent } from "../gateway/agent-rows.ts";
import { oneLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";
import type { ActionInput } from "./agent-action.ts";

const nameMaxChars = 24;
const labelChars = 13;

export async function listAgents({ terminal, client, input }: ActionInput): Promise<void> {
  const every = await listAgentRows(client);
  const rows = input.flag("all") ? every : every.filter((row) => row.fields.isHiddenFromSidebar !== true);
  // A script gets all of them and can choose by itself.
  terminal.result(every.map((row) => row.fields));
  if (every.length === 0)
    terminal.line("No agents yet. Make one: sand agents create <name>, or just sand chat <name>.");
  const width = Math.max(4, ...rows.map((row) => oneLine(row.name, nameMaxChars).length));
  for (const row of rows) terminal.line(describeRow(row, terminal, width));
  if (rows.length < every.length)
    terminal.line(terminal.paint("dim", `${every.length - rows.length} hidden; --all shows them`));
}

function describeRow(row: AgentRow, terminal: Terminal, width: number): string {
  const state = row.isRunning ? terminal.paint("yellow", "running") : terminal.paint("dim", "idle   ");
  const name = oneLine(row.name, nameMaxChars).padEnd(width);
  const room = Math.max(10, terminal.columns - width - row.id.length - 14);
  const preview = oneLine(row.lastMessagePreview ?? "", room);
  return `${terminal.paint("bold", name)}  ${state}  ${terminal.paint("dim", row.id)}  ${preview}`;
}

export async function showAgent({ terminal, client, words }: ActionInput): Promise<void> {
  const agent = await requireAgent(client, words[0] ?? "");
  const [tasks, subagents] = await Promise.all([
    client.call("getAsyncTasks", { id: agent.id }),
    client.call("getSubagents", { id: agent.id }),
  ]);
  terminal.result({ agent: agent.fields, tasks, subagents });
  const { fields } = agent;
  const row = (label: string, value: string): void => {
    if (value !== "") terminal.line(`  ${terminal.paint("dim", label.padEnd(labelChars))} ${value}`);
  };
  terminal.line(terminal.paint("bold", oneLine(agent.name, terminal.columns)));
  row("id", agent.id);
  row("title", lineOf(fields.title, terminal));
  row("description", lineOf(fields.description, terminal));
  row("state", [agent.isRunning ? "running" : "idle", ...(agent.isActive ? ["active"] : [])].join(", "));
  row("unread", fields.hasUnread === true ? String(fields.unreadCount) : "none");
  row("notifications", describeNotifications(fields));
  row("hidden", fields.isHiddenFromSidebar === true ? "yes" : "");
  row("created", momentOf(fields.createdAt));
  row("last active", momentOf(fields.lastActivityAt));
  row("last message", lineOf(agent.lastMessagePreview, terminal));
  for (const task of listOf(tasks)) row("task", lineOf(fieldsOf(task).label, terminal));
  for (const subagent of listOf(subagents)) row("subagent", lineOf(fieldsOf(subagent).title, terminal));
}

function describeNotifications(fields: Readonly<Record<string, unknown>>): string {
  if (fields.notificationsEnabled !== true) return "off";
  return fields.notifyOnUpdatesEnabled === true ? "on" : "on, but not about updates";
}

function lineOf(value: unknown, terminal: Terminal): string {
  return typeof value === "string" ? oneLine(value, Math.max(20, terminal.columns - labelChars - 4)) : "";
}

function momentOf(value: unknown): string {
  return typeof value === "number" ? new Date(value).toISOString() : "";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
