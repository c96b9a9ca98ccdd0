/**
 * The event stream as an endless iterable that survives lost connections.
 *
 * 1. Each connection goes on where the last whole frame ended, so no committed event is lost or repeated.
 * 2. A gap that the host can't fill is an event of channel `reset`: read snapshots again, then go on.
 * 3. It ends when its signal aborts or its consumer leaves the loop, and throws what no new connection can mend.
 *
 * Events are read as they are taken, so a slow consumer slows its stream and holds one chunk at most; a host that cuts
 * a stream for being slow only makes it connect again.
 */
import { type Access, authorization, toGatewayError } from "./call-command.ts";
import { GatewayError } from "./gateway-error.ts";
import type { EventPayloads } from "./gen/api.ts";
import { pause } from "./pause.ts";
import { createFrameSplitter, type Frame } from "./split-frames.ts";

export type EventChannel = keyof EventPayloads;

/** A newer host may send a channel that this version doesn't know; pass it over. */
export type SandEvent = {
  readonly [Channel in EventChannel]: {
    readonly channel: Channel;
    readonly payload: EventPayloads[Channel];
    /** the cursor behind this event; `null` for one that may be lost, as a token delta */
    readonly seq: number | null;
  };
}[EventChannel];

export interface EventOptions {
  /** absent or empty: the channels that the host sends by default */
  readonly channels?: readonly EventChannel[];
  /** the cursor to go on from; absent: what happens from now on */
  readonly since?: number;
  readonly signal?: AbortSignal;
}

/** the host says every 15 s that it is alive; a longer silence is a dead connection, in `ms` */
const silenceMaxMs = 35_000;
const retryDefaultMs = 1_000;
const pauseMaxMs = 30_000;
/** a cursor ahead of every host: it answers where it is and goes on from there */
const fromNow = Number.MAX_SAFE_INTEGER;

interface Position {
  cursor: number;
  retryMs: number;
  /** connections that brought nothing, since one did */
  failures: number;
}

export async function* readEvents(
  access: Access,
  options: EventOptions = {},
): AsyncGenerator<SandEvent, void> {
  const { signal } = options;
  const position: Position = { cursor: options.since ?? fromNow, retryMs: retryDefaultMs, failures: 0 };
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    try {
      yield* readConnection(access, options, position);
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof GatewayError) || error.retry === "never") throw error;
    }
    await pause(Math.min(position.retryMs * 2 ** position.failures, pauseMaxMs), signal);
    position.failures += 1;
  }
}

/** The events of one connection; `position` moves with each frame. */
async function* readConnection(
  access: Access,
  options: EventOptions,
  position: Position,
): AsyncGenerator<SandEvent, void> {
  const silence = createSilenceWatch(options.signal);
  const splitter = createFrameSplitter();
  const decoder = new TextDecoder();
  try {
    const reader = (
      await connect(access, { options, cursor: position.cursor, signal: silence.signal })
    ).getReader();
    for (;;) {
      silence.restart();
      const { done, value } = await lost(() => reader.read());
      silence.pause();
      if (done) return;
      for (const frame of splitter.push(decoder.decode(value, { stream: true }))) {
        const event = takeFrame(frame, position);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    silence.end();
  }
}

function takeFrame(frame: Frame, position: Position): SandEvent | undefined {
  position.retryMs = frame.retryMs ?? position.retryMs;
  const wasPlaced = position.cursor !== fromNow;
  position.cursor = frame.seq ?? position.cursor;
  // The line about retries comes first on every connection, also on one that breaks at once.
  if (frame.retryMs === null) position.failures = 0;
  if (frame.data === null) return undefined;
  const event = { ...(JSON.parse(frame.data) as Omit<SandEvent, "seq">), seq: frame.seq } as SandEvent;
  // The answer to the cursor that was ahead on purpose is no gap.
  return event.channel === "reset" && !wasPlaced ? undefined : event;
}

interface Connection {
  readonly options: EventOptions;
  readonly cursor: number;
  readonly signal: AbortSignal;
}

async function connect(access: Access, { options, cursor, signal }: Connection) {
  const query = new URLSearchParams({ since: String(cursor) });
  const channels = options.channels ?? [];
  if (channels.length > 0) query.set("channels", channels.join(","));
  const response = await lost(() =>
    access.fetch(`${access.baseUrl}/events?${query.toString()}`, { headers: authorization(access), signal }),
  );
  if (!response.ok) throw toGatewayError(response.status, parseError(await lost(() => response.text())));
  if (response.body === null) throw gone(undefined);
  return response.body;
}

function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What a connection does when it breaks, as an error that says: connect again. */
async function lost<Value>(step: () => Promise<Value>): Promise<Value> {
  try {
    return await step();
  } catch (cause) {
    throw gone(cause);
  }
}

function gone(cause: unknown): GatewayError {
  return new GatewayError("the event stream broke off", { status: null, failureCode: null, cause });
}

interface SilenceWatch {
  /** aborts on silence, when the caller's signal does, and at the end */
  readonly signal: AbortSignal;
  restart(): void;
  pause(): void;
  end(): void;
}

function createSilenceWatch(outer: AbortSignal | undefined): SilenceWatch {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  outer?.addEventListener("abort", abort);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch: SilenceWatch = {
    signal: controller.signal,
    restart() {
      clearTimeout(timer);
      timer = setTimeout(abort, silenceMaxMs);
    },
    pause: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
      abort();
    },
  };
  watch.restart();
  return watch;
}
