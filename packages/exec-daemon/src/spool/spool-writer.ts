/**
 * Writes an execution's output to its bounded spool. Writes are synchronous on purpose: the keeper has nothing else to
 * do, and while the disk is busy it doesn't read the pipe, which is what slows the command down.
 *
 * A piece of output is one write, so a reader never sees half of one but at the end. The first segment stays, because
 * a command's beginning explains the rest; of the later ones only the newest are kept.
 */
import { closeSync, openSync, rmSync, writevSync } from "node:fs";
import { join } from "node:path";
import {
  encodeFrameHeader,
  encodeSegmentHeader,
  frameHeaderBytes,
  type SpoolStream,
  segmentName,
} from "./frame.ts";

export interface SpoolBounds {
  readonly segmentMaxBytes: number;
  readonly tailSegmentsMax: number;
}

export interface SpoolWriter {
  append(stream: SpoolStream, bytes: Buffer): void;
  /** Counts bytes that can't be kept, so that a reader gets a gap for them. */
  lose(stream: SpoolStream, count: number): void;
  /** Takes the next sequence number, for a record that isn't output. */
  takeSeq(): number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  close(): void;
}

export function createSpoolWriter(folder: string, firstSeq: number, bounds: SpoolBounds): SpoolWriter {
  const offsets = { stdout: 0, stderr: 0 };
  let nextSeq = firstSeq;
  let index = -1;
  let file: number | undefined;
  let used = 0;

  function openNext(): number {
    close();
    const path = join(folder, segmentName(index + 1));
    const header = encodeSegmentHeader({ firstSeq: nextSeq, ...offsets });
    const opened = openSync(path, "wx", 0o600);
    try {
      writeWhole(opened, [header]);
    } catch (error) {
      closeSync(opened);
      rmSync(path, { force: true });
      throw error;
    }
    index += 1;
    used = header.length;
    file = opened;
    const dropped = index - bounds.tailSegmentsMax;
    if (dropped > 0) rmSync(join(folder, segmentName(dropped)), { force: true });
    return opened;
  }

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }

  return {
    append(stream, bytes) {
      if (bytes.length === 0) return;
      const isFull = used + frameHeaderBytes + bytes.length > bounds.segmentMaxBytes;
      const target = file === undefined || isFull ? openNext() : file;
      const header = encodeFrameHeader({
        length: bytes.length,
        stream,
        seq: nextSeq,
        offset: offsets[stream],
      });
      try {
        writeWhole(target, [header, bytes]);
      } catch (error) {
        // It may end in half a frame, behind which nothing could be read: the next one goes to a fresh segment.
        close();
        throw error;
      }
      used += header.length + bytes.length;
      offsets[stream] += bytes.length;
      nextSeq += 1;
    },
    lose(stream, count) {
      offsets[stream] += count;
    },
    takeSeq() {
      nextSeq += 1;
      return nextSeq - 1;
    },
    get stdoutBytes() {
      return offsets.stdout;
    },
    get stderrBytes() {
      return offsets.stderr;
    },
    close,
  };
}

/** A write may be short on a disk that is nearly full; the rest goes out until an error says why it can't. */
function writeWhole(file: number, whole: readonly Buffer[]): void {
  let pieces = whole;
  while (pieces.length > 0) pieces = skipBytes(pieces, writevSync(file, pieces));
}

function skipBytes(pieces: readonly Buffer[], count: number): Buffer[] {
  let left = count;
  const rest: Buffer[] = [];
  for (const piece of pieces) {
    const skipped = Math.min(left, piece.length);
    left -= skipped;
    if (skipped < piece.length) rest.push(piece.subarray(skipped));
  }
  return rest;
}
