/**
 * All open event streams of the host.
 *
 * 1. A strict stream gets what is published from now on. A stream with a cursor first gets what it missed
 *    (`replay-events.ts`), then the same.
 * 2. A client whose queue is full is served from the hub's ring (`catch-up.ts`). One that doesn't take its events is
 *    cut off alone: when the ring has moved past it, or by the time it has stood still.
 * 3. Every stream says `:ping` so often that no watchdog of a client fires.
 */
import type { ServerResponse } from "node:http";
import { createScope, type Logger } from "@sand/node-kit";
import { BoxError, type Clock, limits, wantsChannel } from "@sand/protocol";
import { catchUp } from "./catch-up.ts";
import type { EncodedEvent } from "./encoded-event.ts";
import type { Burst, EventHub } from "./event-hub.ts";
import { pingLine, retryLine, shareLine } from "./frame-bytes.ts";
import type { StreamWishes } from "./parse-stream-request.ts";
import { replayEvents } from "./replay-events.ts";
import type { ReplaySource } from "./replay-source.ts";
import { createStreamClient, type StreamClient } from "./stream-client.ts";

export interface EventStreamLimits {
  /** streams open at once; more are refused */
  readonly streamsMax: number;
  /** what may wait for one client; what exceeds it has to wait in the ring */
  readonly queueMaxBytes: number;
  /** how long a client may stand still, in `ms` */
  readonly stallMaxMs: number;
  readonly pingMs: number;
}

export const eventStreamLimits: EventStreamLimits = {
  streamsMax: 1_024,
  queueMaxBytes: limits.eventFrameMaxBytes,
  stallMaxMs: 30_000,
  pingMs: limits.eventPingMs,
};

export interface EventStreamsDeps {
  readonly hub: EventHub;
  readonly replay: ReplaySource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: EventStreamLimits;
}

export interface OpenStream {
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly wishes: StreamWishes;
  readonly gzip: boolean;
  readonly slim: boolean;
}

export interface EventStreams {
  /** Takes the response over. `BoxError gateway/too-many-streams` when no more fit; then nothing was written. */
  open(stream: OpenStream): void;
  /** a comment to every stream, by which a client proves that its stream is alive */
  echo(nonce: string): void;
  count(): number;
  /** ends all streams in order and refuses new ones */
  close(): Promise<void>;
}

interface StreamRow {
  readonly client: StreamClient;
  readonly channels: ReadonlySet<string>;
  /** false while the past is replayed or caught up with: what is published meanwhile comes by that */
  isLive: boolean;
}

export function createEventStreams(deps: EventStreamsDeps): EventStreams {
  const { hub, logger } = deps;
  const rows = new Set<StreamRow>();
  const scope = createScope("event-streams", (error, task) => {
    logger.error({ event: "stream.failed", task, err: error }, "background work of the event streams failed");
  });
  scope.defer(
    hub.subscribe((event) => {
      for (const row of rows) {
        if (deliver(row, event) || event.seq === null) continue;
        row.isLive = false;
        // Everything before this one was sent, or is in the queue.
        const since = event.seq - 1;
        scope.run("catch-up", () => orCut(row, catchUp(catchUpDeps(deps, row), row.client, since)));
      }
    }, holdTogether(rows)),
  );
  scope.run("ping", (signal) => pingAndWatch(deps, rows, signal));

  return {
    open(stream) {
      if (scope.signal.aborted) throw new BoxError("host/shutting-down", "the host is shutting down");
      if (rows.size >= deps.limits.streamsMax) {
        throw new BoxError(
          "gateway/too-many-streams",
          `at most ${deps.limits.streamsMax} event streams can be open`,
        );
      }
      const row = openRow(deps, stream);
      rows.add(row);
      stream.response.on("close", () => rows.delete(row));
      const { since } = stream.wishes;
      if (since !== undefined) scope.run("replay", () => replayInto(deps, row, since));
    },
    echo(nonce) {
      const line = shareLine(Buffer.from(`:echo ${nonce}\n\n`, "latin1"));
      for (const { client } of rows) client.sendLine(line);
    },
    count: () => rows.size,
    close() {
      for (const { client } of rows) client.end();
      return scope.close();
    },
  };
}

/** Events that are published together leave each client's socket in one piece. */
function holdTogether(rows: ReadonlySet<StreamRow>): Burst {
  let held: readonly StreamClient[] = [];
  return {
    begin() {
      held = [...rows].filter((row) => row.isLive).map((row) => row.client);
      for (const client of held) client.hold();
    },
    end() {
      for (const client of held) client.release();
      held = [];
    },
  };
}

async function pingAndWatch(
  deps: EventStreamsDeps,
  rows: ReadonlySet<StreamRow>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await deps.clock.sleep(deps.limits.pingMs, signal);
    if (signal.aborted) return;
    const now = deps.clock.nowMs();
    for (const { client } of rows) {
      const stalled = client.stalledSinceMs();
      if (stalled !== undefined && now - stalled >= deps.limits.stallMaxMs) client.cut("stalled");
      else client.sendLine(pingLine);
    }
  }
}

function openRow(deps: EventStreamsDeps, stream: OpenStream): StreamRow {
  const { response, requestId, wishes, gzip, slim } = stream;
  const { socket } = response;
  // The head and the first line leave together.
  socket?.cork();
  writeHead(stream);
  const client = createStreamClient({
    response,
    variant: { withId: wishes.since !== undefined, slim, gzip },
    queueMaxBytes: deps.limits.queueMaxBytes,
    nowMs: () => deps.clock.nowMs(),
    onCut: (reason) => {
      deps.logger.info({ event: "stream.cut", requestId, reason }, "an event stream was cut off");
    },
  });
  client.sendLine(retryLine);
  socket?.uncork();
  return { client, channels: wishes.channels, isLive: wishes.since === undefined };
}

function replayInto(deps: EventStreamsDeps, row: StreamRow, since: number): Promise<void> {
  return orCut(row, replayEvents({ ...catchUpDeps(deps, row), replay: deps.replay }, row.client, since));
}

async function orCut(row: StreamRow, replay: Promise<void>): Promise<void> {
  try {
    await replay;
  } catch (error) {
    // Half a replay must not look like a whole one; the client tries again from its cursor.
    row.client.cut("replay-failed");
    throw error;
  }
}

function catchUpDeps({ hub }: EventStreamsDeps, row: StreamRow) {
  return {
    hub,
    wants: (channel: string) => wantsChannel(row.channels, channel),
    goLive: () => {
      row.isLive = true;
    },
  };
}

/** False when the event did not fit. A transient one is dropped then: a committed one says the same later. */
function deliver(row: StreamRow, event: EncodedEvent): boolean {
  return !row.isLive || !wantsChannel(row.channels, event.channel) || row.client.sendEvent(event);
}

function writeHead({ response, requestId, gzip }: OpenStream): void {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-sand-request-id": requestId,
    ...(gzip ? { "content-encoding": "gzip", vary: "Accept-Encoding" } : {}),
  });
  response.flushHeaders();
}
