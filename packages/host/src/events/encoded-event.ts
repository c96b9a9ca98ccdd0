/**
 * One event as bytes, encoded once and shared by every client that gets the same variant.
 *
 * A variant is made when the first client needs it and forgotten after the fan-out (`forgetVariants`), so the ring
 * holds one text for each event, whatever mix of clients there is.
 */
import { type AgentSummary, type HostEvent, type JsonObject, limits, slimAvatar } from "@sand/protocol";
import { type FrameBytes, frameBytes } from "./frame-bytes.ts";

export interface FrameVariant {
  /** an `id:` line before the data, for streams that asked to resume */
  readonly withId: boolean;
  /** summaries without pictures */
  readonly slim: boolean;
  readonly gzip: boolean;
}

export interface EncodedEvent {
  readonly seq: number | null;
  readonly channel: string;
  /** size of the plain frame without an id */
  readonly sizeBytes: number;
  /** `undefined` when the event has no bytes for this variant: it is too large for a frame, and the client knows no ids */
  frame(variant: FrameVariant): FrameBytes | undefined;
  forgetVariants(): void;
}

export function encodeEvent(event: HostEvent): EncodedEvent {
  const { seq, channel } = event;
  const full = encodeData(channel, event.payload);
  const variants = new Map<number, FrameBytes>();

  function plainBytes(variant: FrameVariant): Buffer | undefined {
    const data =
      variant.slim && carriesAvatars(channel) ? encodeData(channel, slimPayload(event.payload)) : full;
    if (data.length <= limits.eventFrameMaxBytes) return variant.withId ? withIdLine(seq, data) : data;
    // A client refuses so long a frame. One that resumes is told to read the snapshot; a strict one knows no such frame.
    if (!variant.withId || seq === null) return undefined;
    return encodeReset("too-large", seq);
  }

  return {
    seq,
    channel,
    sizeBytes: full.length,
    frame(variant) {
      const key = (variant.withId ? 1 : 0) + (variant.slim ? 2 : 0) + (variant.gzip ? 4 : 0);
      const known = variants.get(key);
      if (known !== undefined) return known;
      const plain = plainBytes(variant);
      if (plain === undefined) return undefined;
      const made = frameBytes(plain, variant.gzip);
      variants.set(key, made);
      return made;
    },
    forgetVariants: () => variants.clear(),
  };
}

/** Says that the stream has a gap up to `seq`, and sets the client's cursor behind it. */
export function encodeReset(reason: "too-old" | "ahead" | "too-large", seq: number): Buffer {
  return withIdLine(seq, encodeData("reset", { reason, lastSeq: seq }));
}

/** In memory of its own: a slice of Node's shared pool would keep all of the pool for as long as the ring keeps it. */
function encodeData(channel: string, payload: JsonObject): Buffer {
  const text = `data: ${JSON.stringify({ channel, payload })}\n\n`;
  const data = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  data.write(text);
  return data;
}

function withIdLine(seq: number | null, data: Buffer): Buffer {
  return seq === null ? data : Buffer.concat([Buffer.from(`id: ${seq}\n`, "latin1"), data]);
}

function carriesAvatars(channel: string): boolean {
  return channel === "agents" || channel === "agent-upserted";
}

function slimPayload(payload: JsonObject): JsonObject {
  const { agent, agents } = payload as { agent?: AgentSummary; agents?: readonly AgentSummary[] };
  return {
    ...payload,
    ...(agent === undefined ? {} : { agent: toJson(slimAvatar(agent)) }),
    ...(agents === undefined ? {} : { agents: agents.map((row) => toJson(slimAvatar(row))) }),
  };
}

// A summary is plain data; an interface just isn't assignable to an index signature.
function toJson(agent: AgentSummary): JsonObject {
  return { ...agent } as JsonObject;
}
