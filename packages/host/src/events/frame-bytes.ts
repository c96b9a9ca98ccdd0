/** The bytes of a frame or a line, made once and shared by every client that gets the same variant. */
import { limits } from "@sand/protocol";
import { deflateBlock } from "./shared-gzip.ts";

export interface FrameBytes {
  readonly plain: Buffer;
  /** the body's bytes: `plain`, or its deflate block */
  readonly wire: Buffer;
  /** `wire` as one chunk of an answer in chunked transfer coding, ready for the socket */
  readonly chunk: Buffer;
}

/** Bytes that belong to no event: a comment, the retry line, a reset. */
export interface SharedLine {
  frame(gzip: boolean): FrameBytes;
}

export function frameBytes(plain: Buffer, gzip: boolean): FrameBytes {
  const wire = gzip ? deflateBlock(plain) : plain;
  return { plain, wire, chunk: chunkOf(wire) };
}

export function shareLine(plain: Buffer): SharedLine {
  const raw = frameBytes(plain, false);
  let packed: FrameBytes | undefined;
  return {
    frame(gzip) {
      if (!gzip) return raw;
      packed ??= frameBytes(plain, true);
      return packed;
    },
  };
}

export const retryLine: SharedLine = shareLine(Buffer.from(`retry: ${limits.eventRetryMs}\n\n`, "latin1"));
export const pingLine: SharedLine = shareLine(Buffer.from(":ping\n\n", "latin1"));

/** RFC 9112, section 7.1. An empty chunk would end the answer. */
function chunkOf(body: Buffer): Buffer {
  const head = `${body.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(head.length + body.length + 2);
  chunk.write(head, 0, "latin1");
  body.copy(chunk, head.length);
  chunk.write("\r\n", head.length + body.length, "latin1");
  return chunk;
}
