/** `sand events`: the host's event stream, resumed by itself after an outage. */
import { systemClock } from "@sand/node-kit";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { channelNotes, describeEvent } from "../events/describe-event.ts";
import type { ExitName } from "../exit-codes.ts";
import { requireAgent } from "../gateway/agent-rows.ts";
import { openEventStream, type StreamItem } from "../gateway/event-stream.ts";
import { createGatewayAccess, requireHealth } from "../gateway/gateway-access.ts";
import { oneLine } from "../plain-text.ts";
import { readCount } from "../read-count.ts";
import type { Terminal } from "../terminal.ts";

const channelChars = Math.max(...Object.keys(channelNotes).map((name) => name.length));

export const eventsCommand: Command = {
  name: "events",
  summary: "follow what happens on the host",
  usage: "events [options]",
  details: [
    "Follows the event stream until Ctrl-C, over restarts of the host: what was missed is replayed,",
    "and a gap that can't be filled is told as `reset`. With --json each event is one document with",
    "`id`, `channel` and `payload`; an id is what --since takes.",
    "",
    "Channels:",
    ...Object.entries(channelNotes).map(([name, note]) => `  ${name.padEnd(channelChars)}  ${note}`),
  ].join("\n"),
  options: {
    channels: {
      type: "string",
      value: "<a,b>",
      choices: Object.keys(channelNotes),
      about: "only these (default: all but turn-delta)",
    },
    since: {
      type: "string",
      value: "<id>",
      about: "replay what came after this id first; 0 is all that is kept",
    },
    agent: { type: "string", value: "<agent>", about: "only what is about this agent" },
    limit: { type: "string", value: "<n>", short: "n", about: "end after so many events" },
  },
  examples: [
    "sand events",
    "sand events --channels transcript,turn --agent main",
    "sand events --json --since 0 --limit 10",
  ],
  words: [0, 0],
  run: events,
};

interface EventItem {
  readonly id: string | undefined;
  readonly channel: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** beyond every event: the host answers such a cursor with the newest one, from which an outage can be resumed */
const fromNow = Number.MAX_SAFE_INTEGER;

async function events(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const channels = readChannels(input.text("channels"));
  const since = readCount("since", input.text("since"), { least: 0 }) ?? fromNow;
  const limit = readCount("limit", input.text("limit"), { least: 1 }) ?? Number.POSITIVE_INFINITY;
  const access = createGatewayAccess(context);
  await requireHealth(access.client());
  const word = input.text("agent");
  const agentId = word === undefined ? undefined : (await requireAgent(access.client(), word)).id;
  const stream = openEventStream({
    location: access.client().location,
    channels,
    clock: systemClock,
    signal: new AbortController().signal,
    since: () => since,
    relocate: () => access.relocate().location,
  });
  const toldOf = createOutageNotes(terminal);
  let shown = 0;
  for await (const item of stream) {
    toldOf(item);
    if (item.kind !== "event" || isOwnCursor(item, since)) continue;
    if (agentId !== undefined && describeEvent(item.channel, item.payload).agentId !== agentId) continue;
    show(terminal, item);
    shown += 1;
    if (shown >= limit) break;
  }
  return "ok";
}

/** The answer to `fromNow` is news to nobody. */
function isOwnCursor({ channel, payload }: EventItem, since: number): boolean {
  return channel === "reset" && payload.reason === "ahead" && since === fromNow;
}

function show(terminal: Terminal, { id, channel, payload }: EventItem): void {
  terminal.result({ id: id === undefined ? null : Number(id), channel, payload });
  if (terminal.json) return;
  const { agentId, text } = describeEvent(channel, payload);
  const head = [
    new Date().toTimeString().slice(0, 8),
    (id ?? "").padStart(8),
    terminal.paint("cyan", channel.padEnd(channelChars)),
    ...(agentId === undefined ? [] : [terminal.paint("dim", agentId)]),
  ].join("  ");
  const room = Math.max(20, terminal.columns - channelChars - (agentId?.length ?? 0) - 24);
  terminal.line(`${head}  ${oneLine(text, terminal.isTty ? room : Number.POSITIVE_INFINITY)}`);
}

function createOutageNotes(terminal: Terminal): (item: StreamItem) => void {
  let isUp = true;
  const note = (text: string): void => terminal.note(terminal.paint("yellow", text));
  return (item) => {
    if (item.kind === "lost" && isUp) note("… the host doesn't answer; waiting for it");
    if (item.kind === "connected" && !isUp) note("… the host is back");
    if (item.kind !== "event") isUp = item.kind === "connected";
  };
}

function readChannels(text: string | undefined): readonly string[] {
  const all = Object.keys(channelNotes);
  if (text === undefined) return all.filter((name) => name !== "turn-delta");
  const named = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = named.find((name) => !all.includes(name));
  if (unknown !== undefined || named.length === 0) {
    throw new CommandFailure("usage", `there is no channel "${unknown ?? text}"`, {
      hint: `there are ${all.join(", ")}`,
    });
  }
  return [...new Set([...named, "reset"])];
}
