/** One event of the stream as one line for a person: whom it is about, and what happened. */
import type { EventChannel } from "@sand/protocol";
import { fieldsOf, readEntry } from "../chat/feed-event.ts";

/** every channel, with what it carries; also the help of `sand events` */
export const channelNotes: Readonly<Record<EventChannel, string>> = {
  transcript: "entries as they come and change",
  agents: "the whole roster, when its order changed",
  "agent-upserted": "one agent's row",
  subagents: "who works for an agent",
  "async-tasks": "what runs in the background",
  "host-settings": "the host's settings",
  turn: "the steps of a turn as they are committed",
  "turn-delta": "text and output while they stream; only when named",
  reset: "a gap that can't be filled",
};

export interface EventLine {
  readonly agentId: string | undefined;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

export function describeEvent(channel: string, payload: Fields): EventLine {
  const agentId = textOf(payload.agentId);
  switch (channel) {
    case "transcript":
      return { agentId, text: describeChange(payload) };
    case "agent-upserted":
      return describeAgent(fieldsOf(payload.agent));
    case "agents":
      return { agentId: undefined, text: countOf(payload.agents, "agent") };
    case "subagents":
      return { agentId, text: countOf(payload.subagents, "subagent") };
    case "async-tasks":
      return { agentId, text: countOf(payload.tasks, "task") };
    case "turn-delta":
      return { agentId, text: `${textOf(payload.type) ?? ""}: ${textOf(payload.text) ?? ""}` };
    case "reset":
      return { agentId: undefined, text: `events before this are missing: ${textOf(payload.reason) ?? ""}` };
    default:
      return { agentId, text: [payload.type, payload.turnId].flatMap((one) => textOf(one) ?? []).join(" ") };
  }
}

function describeChange(payload: Fields): string {
  const entry = readEntry(payload.entry);
  const change = textOf(payload.type) ?? "";
  if (entry === undefined) return change;
  const about = [entry.role, entry.name, entry.level, entry.status].filter((word) => word !== "");
  return `${change} ${[entry.kind, ...about].join(" ")}: ${entry.text}`;
}

function describeAgent(agent: Fields): EventLine {
  const state = agent.isRunning === true ? "running" : "idle";
  return { agentId: textOf(agent.id), text: `${textOf(agent.name) ?? ""} is ${state}` };
}

function countOf(rows: unknown, noun: string): string {
  const count = Array.isArray(rows) ? rows.length : 0;
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
