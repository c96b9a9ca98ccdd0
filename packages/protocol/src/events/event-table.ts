/**
 * The one table of event channels: what each carries, and whether a client gets it without asking by name.
 *
 * A strict client knows only the contract's channels. A channel of ours is sent to those that name it in
 * `?channels=`, so that nobody sees a frame that it can't place.
 */
import Type, { type Static, type TSchema } from "typebox";
import type { AgentSummary } from "../agent-summary.ts";
import { hostSettingsSchema } from "../commands/settings-commands.ts";
import { asyncTask, subagent } from "../commands/transcript-commands.ts";
import { agentSummary, transcriptEntry } from "../commands/wire-shapes.ts";
import type { AgentId, CallId, TurnId } from "../ids.ts";

export interface EventRow<Payload extends TSchema = TSchema> {
  readonly payload: Payload;
  /** false: only for clients that name the channel */
  readonly byDefault: boolean;
}

function row<Payload extends TSchema>(payload: Payload, byDefault = true): EventRow<Payload> {
  return { payload, byDefault };
}

const agentId = Type.Unsafe<AgentId>(Type.String());
const activeAgentId = Type.Unsafe<AgentId | null>(Type.Union([Type.String(), Type.Null()]));

const transcriptPayload = Type.Union([
  Type.Object({ type: Type.Literal("snapshot"), activeAgentId, entries: Type.Array(transcriptEntry) }),
  Type.Object({ type: Type.Literal("appended"), agentId, entry: transcriptEntry }),
  Type.Object({
    type: Type.Literal("updated"),
    agentId,
    entry: transcriptEntry,
    before: Type.Optional(transcriptEntry),
  }),
  Type.Object({ type: Type.Literal("cleared"), agentId }),
]);

const turnDelta = Type.Union([
  /** the text of the running step grew */
  Type.Object({
    type: Type.Literal("text"),
    agentId,
    turnId: Type.Unsafe<TurnId>(Type.String()),
    step: Type.Integer(),
    text: Type.String(),
  }),
  /** a running tool wrote output */
  Type.Object({
    type: Type.Literal("tool-output"),
    agentId,
    turnId: Type.Unsafe<TurnId>(Type.String()),
    callId: Type.Unsafe<CallId>(Type.String()),
    stream: Type.Enum(["stdout", "stderr"]),
    text: Type.String(),
  }),
]);

export const eventTable = {
  transcript: row(transcriptPayload),
  agents: row(Type.Object({ agents: Type.Array(agentSummary), activeAgentId })),
  "agent-upserted": row(
    Type.Object({ agent: agentSummary, activeAgentId, ordered: Type.Optional(Type.Boolean()) }),
  ),
  subagents: row(Type.Object({ agentId, subagents: Type.Array(subagent) })),
  "async-tasks": row(Type.Object({ agentId, tasks: Type.Array(asyncTask) })),
  "host-settings": row(hostSettingsSchema),
  /** ours: the steps of a turn as they are committed */
  turn: row(
    Type.Object({
      agentId,
      turnId: Type.Unsafe<TurnId>(Type.String()),
      generation: Type.Integer(),
      type: Type.String(),
    }),
    false,
  ),
  /** ours: what is shown while it streams, never a fact */
  "turn-delta": row(turnDelta, false),
  /** ours: a resumed stream has a gap, so the client reads snapshots again; only in streams that asked to resume */
  reset: row(
    Type.Object({ reason: Type.Enum(["too-old", "ahead", "too-large"]), lastSeq: Type.Integer() }),
    false,
  ),
} as const satisfies Record<string, EventRow>;

export type EventChannel = keyof typeof eventTable;
export type EventPayload<Channel extends EventChannel> = Static<(typeof eventTable)[Channel]["payload"]>;
export type TurnDelta = EventPayload<"turn-delta">;

const onlyWhenNamed: ReadonlySet<string> = new Set(
  Object.entries(eventTable).flatMap(([channel, { byDefault }]) => (byDefault ? [] : [channel])),
);

/** Whether a stream gets a channel; `named` is empty when the client didn't filter. */
export function wantsChannel(named: ReadonlySet<string>, channel: string): boolean {
  return named.size === 0 ? !onlyWhenNamed.has(channel) : named.has(channel);
}

/** Agents without their pictures, for clients that asked for slim summaries. */
export function slimAvatar(agent: AgentSummary): AgentSummary {
  return agent.avatarDataUrl === null ? agent : { ...agent, avatarDataUrl: null };
}
