/**
 * The writing side of one client's event stream.
 *
 * 1. What waits for the client is bounded: a frame that would exceed the limit is refused, and the caller serves this
 *    client later (`catch-up.ts`) or ends its stream alone (`cut`). `write() === false` means accepted but full, so a
 *    frame is never sent twice.
 * 2. A frame goes to the socket as the one chunk that all clients share. Node would frame it anew for each of them, in
 *    four pieces and with a tick of its own. An answer that isn't chunked, or has no socket yet because it waits behind
 *    another one of its connection, goes Node's way.
 */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { EncodedEvent, FrameVariant } from "./encoded-event.ts";
import { type FrameBytes, frameBytes, retryLine, type SharedLine } from "./frame-bytes.ts";
import { createGzipTally, gzipHeader } from "./shared-gzip.ts";

export type CutReason = "too-slow" | "stalled" | "replay-failed";

export interface StreamClient {
  readonly variant: FrameVariant;
  /** bytes that wait in this process */
  pendingBytes(): number;
  /** since when the client has not taken what it was sent, in `ms`; `undefined` when it keeps up */
  stalledSinceMs(): number | undefined;
  /** false when it does not fit now; then nothing of it was written */
  sendEvent(event: EncodedEvent): boolean;
  /** a comment or a line that belongs to no event; dropped when it does not fit */
  sendLine(line: SharedLine): void;
  /** gathers what is sent until `release`, so that it leaves in one piece */
  hold(): void;
  release(): void;
  /** resolves when `bytes` more would fit, or when the stream is gone */
  ready(bytes: number): Promise<void>;
  /** resolves when little waits for the client, or when the stream is gone */
  drained(): Promise<void>;
  /** says goodbye and ends the stream in order */
  end(): void;
  cut(reason: CutReason): void;
  isGone(): boolean;
}

export interface StreamClientDeps {
  /** its head is written */
  readonly response: ServerResponse;
  readonly variant: FrameVariant;
  readonly queueMaxBytes: number;
  nowMs(): number;
  onCut(reason: CutReason): void;
}

export function createStreamClient(deps: StreamClientDeps): StreamClient {
  const { response, variant } = deps;
  const socket = response.chunkedEncoding ? response.socket : null;
  const target: Writable = socket ?? response;
  const tally = variant.gzip ? createGzipTally() : undefined;
  let stalledSinceMs: number | undefined;
  let gone = false;

  function onDrain(): void {
    stalledSinceMs = undefined;
  }
  target.on("drain", onDrain);
  response.on("close", () => {
    gone = true;
    target.off("drain", onDrain);
  });
  response.on("error", () => {
    gone = true;
  });

  /** True when `bytes` more would not fit. Without a need to drain little waits, and a frame of any size may pass. */
  function isFull(bytes: number): boolean {
    return target.writableNeedDrain && target.writableLength + bytes > deps.queueMaxBytes;
  }

  function write(frame: FrameBytes): void {
    if (gone) return;
    if (!target.write(socket === null ? frame.wire : frame.chunk)) stalledSinceMs ??= deps.nowMs();
  }
  const burst = gatherBurst(target, write);

  function send(frame: FrameBytes): boolean {
    // A client that is gone takes everything: nothing is owed to it.
    if (gone) return true;
    burst.makeRoom();
    if (isFull(frame.wire.length)) return false;
    tally?.add(frame.plain);
    burst.push(frame);
    return true;
  }

  function cut(reason: CutReason): void {
    if (gone) return;
    gone = true;
    deps.onCut(reason);
    response.destroy();
  }

  if (variant.gzip) write(gzipStart);

  return {
    variant,
    pendingBytes: () => target.writableLength,
    stalledSinceMs: () => stalledSinceMs,
    sendEvent(event) {
      const frame = event.frame(variant);
      return frame === undefined || send(frame);
    },
    sendLine(line) {
      send(line.frame(variant.gzip));
    },
    hold: burst.begin,
    release: burst.end,
    async ready(bytes) {
      while (!gone && isFull(bytes)) await nextDrain(target, response);
    },
    async drained() {
      while (!gone && target.writableNeedDrain) await nextDrain(target, response);
    },
    end() {
      if (gone) return;
      send(retryLine.frame(variant.gzip));
      if (tally !== undefined && !gone) write(frameBytes(tally.trailer(), false));
      response.end();
    },
    cut,
    isGone: () => gone,
  };
}

const gzipStart: FrameBytes = frameBytes(gzipHeader, false);

/** Most bursts have one frame for a client, so the stream is corked only when the second one comes. */
function gatherBurst(target: Writable, write: (frame: FrameBytes) => void) {
  let isOpen = false;
  let isCorked = false;
  let first: FrameBytes | undefined;

  function writeFirst(): void {
    if (first !== undefined) write(first);
    first = undefined;
  }

  return {
    begin(): void {
      isOpen = true;
    },
    /** writes what waits, so that a full stream shows */
    makeRoom(): void {
      if (first === undefined) return;
      target.cork();
      isCorked = true;
      writeFirst();
    },
    push(frame: FrameBytes): void {
      if (isOpen && !isCorked) first = frame;
      else write(frame);
    },
    end(): void {
      writeFirst();
      if (isCorked) target.uncork();
      isOpen = false;
      isCorked = false;
    },
  };
}

/** Resolves at the next drain, or when there will be none any more. */
function nextDrain(target: Writable, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    function done(): void {
      target.off("drain", done);
      response.off("close", done);
      resolve();
    }
    target.on("drain", done);
    response.on("close", done);
  });
}
