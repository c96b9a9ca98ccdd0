/**
 * The gateway's events as one endless iteration over reconnects.
 *
 * Any close is followed by a new connection from the last `id:`, with a growing pause, until the caller aborts. Only a
 * refusal that would be repeated (401, 403, 404) ends it. After each connection an item says so, since what is
 * transient may have been missed and the caller has to look again.
 */
import type { Clock } from "@sand/protocol";
import { CommandFailure } from "../command-failure.ts";
import { exitNameOfStatus } from "../exit-codes.ts";
import type { GatewayLocation } from "./find-gateway.ts";
import { authorization, refusal, send } from "./gateway-client.ts";
import { createSseParser, type SseFrame } from "./sse-frames.ts";

export type StreamItem =
  | { readonly kind: "connected" }
  | { readonly kind: "lost" }
  | {
      readonly kind: "event";
      /** where a later stream can go on; absent in a stream that wasn't resumed */
      readonly id: string | undefined;
      readonly channel: string;
      readonly payload: Readonly<Record<string, unknown>>;
    };

export interface EventStreamOptions {
  readonly location: GatewayLocation;
  readonly channels: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** where to resume as long as no frame has carried an id; without it such a connection begins with what is new */
  readonly since?: () => number | undefined;
  /** a host that was restarted listens on another port when it was told to take any */
  readonly relocate?: () => GatewayLocation | undefined;
}

/** the gateway sends a heartbeat every 15 s */
const silenceMaxMs = 35_000;
const pauseMinMs = 100;
const pauseMaxMs = 3_000;
const lastingRefusals: ReadonlySet<string> = new Set(["unauthorized", "notFound", "usage"]);

export async function* openEventStream(
  options: EventStreamOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const { signal, clock } = options;
  let lastId: string | undefined;
  let pauseMs = pauseMinMs;
  while (!signal.aborted) {
    const location = options.relocate?.() ?? options.location;
    try {
      for await (const frame of readConnection(options, location, lastId)) {
        if (frame === "connected") {
          pauseMs = pauseMinMs;
          yield { kind: "connected" };
          continue;
        }
        lastId = frame.id ?? lastId;
        const event = parseEvent(frame.data, frame.id);
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CommandFailure && lastingRefusals.has(error.exit)) throw error;
    }
    if (signal.aborted) return;
    yield { kind: "lost" };
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs);
  }
}

async function* readConnection(
  options: EventStreamOptions,
  location: GatewayLocation,
  lastId: string | undefined,
): AsyncGenerator<SseFrame | "connected", void, undefined> {
  const silence = new AbortController();
  const signal = AbortSignal.any([options.signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), silenceMaxMs);
  try {
    const since = lastId === undefined ? options.since?.() : undefined;
    const query = `channels=${encodeURIComponent(options.channels.join(","))}${since === undefined ? "" : `&since=${since}`}`;
    const response = await send(location, `/events?${query}`, {
      headers: {
        accept: "text/event-stream",
        ...authorization(location),
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
      },
      signal,
    });
    if (!response.ok) throw await describeRefusal(response);
    if (response.body === null) return;
    yield "connected";
    const parser = createSseParser();
    for await (const chunk of response.body) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMaxMs);
      yield* parser.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
}

async function describeRefusal(response: Response): Promise<CommandFailure> {
  const text = (await response.text()).slice(0, 2_000);
  try {
    return refusal(response.status, JSON.parse(text), text);
  } catch {
    return new CommandFailure(
      exitNameOfStatus(response.status),
      `the event stream answers HTTP ${response.status}`,
    );
  }
}

function parseEvent(data: string, id: string | undefined): StreamItem | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (
      typeof value !== "object" ||
      value === null ||
      !("channel" in value) ||
      typeof value.channel !== "string"
    )
      return undefined;
    const payload =
      "payload" in value && typeof value.payload === "object" && value.payload !== null ? value.payload : {};
    return { kind: "event", id, channel: value.channel, payload: { ...payload } };
  } catch {
    // A frame that isn't JSON isn't ours; the stream goes on.
    return undefined;
  }
}
