/**
 * What happens at one agent, as a person wants to see it, and its reading from the gateway's frames.
 *
 * Frames come from another process and perhaps another version, so each is read field by field; what isn't understood
 * is left out rather than guessed at.
 */
export interface FeedEntry {
  readonly id: string;
  readonly kind: string;
  /** message: who wrote it */
  readonly role: string;
  /** message, send-message and notice: the text; tool-call: its summary */
  readonly text: string;
  readonly clientNonce: string | undefined;
  readonly seq: number | undefined;
  readonly name: string;
  readonly status: string;
  readonly outputPreview: string | undefined;
  readonly level: string;
  readonly code: string;
}

export type FeedEvent =
  | { readonly kind: "entry"; readonly entry: FeedEntry }
  /** transient: a piece of the model's text */
  | { readonly kind: "text"; readonly text: string }
  /** transient: a piece of a running command's output */
  | { readonly kind: "output"; readonly callId: string; readonly text: string }
  | {
      readonly kind: "running";
      readonly isRunning: boolean;
      /** the model's provider failed, and is asked again after a while */
      readonly isRetrying: boolean;
      readonly awaitingUser: boolean;
    }
  | { readonly kind: "connection"; readonly state: "lost" | "restored" };

export const feedChannels = ["transcript", "agent-upserted", "turn-delta"] as const;

type Fields = Readonly<Record<string, unknown>>;

/** The event that a frame means for `agentId`; `undefined` when it is about something else. */
export function readFrame(channel: string, payload: Fields, agentId: string): FeedEvent | undefined {
  switch (channel) {
    case "transcript":
      return payload.agentId === agentId ? readTranscriptChange(payload) : undefined;
    case "agent-upserted":
      return readSummary(fieldsOf(payload.agent), agentId);
    case "turn-delta":
      return payload.agentId === agentId ? readDelta(payload) : undefined;
    default:
      return undefined;
  }
}

function readTranscriptChange(payload: Fields): FeedEvent | undefined {
  if (payload.type !== "appended" && payload.type !== "updated") return undefined;
  const entry = readEntry(payload.entry);
  return entry === undefined ? undefined : { kind: "entry", entry };
}

export function readSummary(agent: Fields, agentId: string): FeedEvent | undefined {
  if (agent.id !== agentId || typeof agent.isRunning !== "boolean") return undefined;
  const waiting = agent.awaitingUserResponse;
  return {
    kind: "running",
    isRunning: agent.isRunning,
    isRetrying: agent.isRetrying === true,
    awaitingUser: waiting !== undefined && waiting !== null && waiting !== false,
  };
}

function readDelta(payload: Fields): FeedEvent | undefined {
  const text = textOf(payload.text);
  if (text === "") return undefined;
  if (payload.type === "text") return { kind: "text", text };
  if (payload.type !== "tool-output") return undefined;
  return { kind: "output", callId: textOf(payload.callId), text };
}

export function readEntry(value: unknown): FeedEntry | undefined {
  const fields = fieldsOf(value);
  if (typeof fields.id !== "string" || typeof fields.kind !== "string") return undefined;
  return {
    id: fields.id,
    kind: fields.kind,
    role: textOf(fields.role),
    text: readText(fields),
    clientNonce: typeof fields.clientNonce === "string" ? fields.clientNonce : undefined,
    seq: typeof fields.seq === "number" ? fields.seq : undefined,
    name: textOf(fields.name),
    status: textOf(fields.status),
    outputPreview: typeof fields.outputPreview === "string" ? fields.outputPreview : undefined,
    level: textOf(fields.level),
    code: textOf(fields.code),
  };
}

function readText(fields: Fields): string {
  if (fields.kind === "tool-call") return textOf(fields.summary);
  if (fields.kind !== "send-message") return textOf(fields.content);
  const message = fieldsOf(fields.message);
  return message.type === "text" ? textOf(message.content) : `[${textOf(message.type)}]`;
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
