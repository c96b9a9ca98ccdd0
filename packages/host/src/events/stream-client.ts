/**
 * The writing side of one client's event stream.
 *
 * What waits for the client is bounded: a frame that would exceed the limit is refused, and the caller serves this
 * client later (`catch-up.ts`) or ends its stream alone (`cut`). `write() === false` means accepted but full, so a
 * frame is never sent twice.
 */
import type { ServerResponse } from "node:http";
import { limits } from "@sand/protocol";
import { type EncodedEvent, type FrameBytes, type FrameVariant, frameBytes } from "./encoded-event.ts";
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
  sendLine(plain: Buffer): void;
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
  readonly response: ServerResponse;
  readonly variant: FrameVariant;
  readonly queueMaxBytes: number;
  nowMs(): number;
  onCut(reason: CutReason): void;
}

export const retryLine: Buffer = Buffer.from(`retry: ${limits.eventRetryMs}\n\n`, "latin1");

export function createStreamClient(deps: StreamClientDeps): StreamClient {
  const { response, variant } = deps;
  const tally = variant.gzip ? createGzipTally() : undefined;
  let stalledSinceMs: number | undefined;
  let gone = false;

  response.on("drain", () => {
    stalledSinceMs = undefined;
  });
  response.on("close", () => {
    gone = true;
  });
  response.on("error", () => {
    gone = true;
  });

  /** True when `bytes` more would not fit. Without a need to drain little waits, and a frame of any size may pass. */
  function isFull(bytes: number): boolean {
    return response.writableNeedDrain && response.writableLength + bytes > deps.queueMaxBytes;
  }

  function push(wire: Buffer): void {
    if (!response.write(wire)) stalledSinceMs ??= deps.nowMs();
  }

  function send(frame: FrameBytes): boolean {
    // A client that is gone takes everything: nothing is owed to it.
    if (gone) return true;
    if (isFull(frame.wire.length)) return false;
    tally?.add(frame.plain);
    push(frame.wire);
    return true;
  }

  function cut(reason: CutReason): void {
    if (gone) return;
    gone = true;
    deps.onCut(reason);
    response.destroy();
  }

  if (variant.gzip) push(gzipHeader);

  return {
    variant,
    pendingBytes: () => response.writableLength,
    stalledSinceMs: () => stalledSinceMs,
    sendEvent(event) {
      const frame = event.frame(variant);
      return frame === undefined || send(frame);
    },
    sendLine(plain) {
      send(frameBytes(plain, variant.gzip));
    },
    async ready(bytes) {
      while (!gone && isFull(bytes)) await nextDrain(response);
    },
    async drained() {
      while (!gone && response.writableNeedDrain) await nextDrain(response);
    },
    end() {
      if (gone) return;
      send(frameBytes(retryLine, variant.gzip));
      if (tally !== undefined && !gone) push(tally.trailer());
      response.end();
    },
    cut,
    isGone: () => gone,
  };
}

/** Resolves at the next drain, or when there will be none any more. */
function nextDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    function done(): void {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    }
    response.on("drain", done);
    response.on("close", done);
  });
}
