/**
 * Reads the frames of a spool from a place on. A reader is a cursor on files: it holds no output and no descriptor
 * between two reads, so a slow one costs nothing and can't hold the command up. What was dropped meanwhile is skipped,
 * and the frame after it carries where both streams stood, so that the caller can name the gap.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import {
  decodeFrameHeader,
  decodeSegmentHeader,
  frameHeaderBytes,
  type SegmentHeader,
  type SpoolStream,
  segmentHeaderBytes,
  segmentIndexes,
  segmentName,
} from "./frame.ts";

export interface SpoolFrame {
  readonly seq: number;
  readonly stream: SpoolStream;
  readonly offset: number;
  readonly bytes: Buffer;
  /** where both streams stood before this frame's segment; nothing below is kept in it or after it */
  readonly segment: SegmentHeader;
}

export interface SpoolReader {
  /** The next frames with a seq of at least `fromSeq`, about `bytesMax` of payload, at least one when there is one. */
  read(fromSeq: number, bytesMax: number): readonly SpoolFrame[];
  /** the segment that the next read begins in, as far as that is known */
  readonly segment: number | undefined;
}

interface Place {
  readonly index: number;
  /** where in the file the next frame starts */
  readonly at: number;
  readonly nextSeq: number;
}

/** a pipe gives at most 64 KiB at once: four of the largest frames */
const readAheadBytes = 4 * (64 * 1024 + frameHeaderBytes);
/** a frame of this size may keep what was read ahead alive; a smaller one is copied out of it */
const keptBytes = 16 * 1024;

export function createSpoolReader(folder: string): SpoolReader {
  let place: Place | undefined;

  function read(fromSeq: number, bytesMax: number): readonly SpoolFrame[] {
    const frames: SpoolFrame[] = [];
    let budget = bytesMax;
    /** the segment that had a next one before it was looked at: nothing is written to it any more */
    let sealed: number | undefined;
    let at = place !== undefined && place.nextSeq === fromSeq ? place : findSegment(folder, fromSeq);
    while (at !== undefined && budget > 0) {
      const scanned = scanSegment(folder, at, fromSeq, budget);
      frames.push(...scanned.frames);
      budget -= scanned.frames.reduce((sum, frame) => sum + frame.bytes.length + frameHeaderBytes, 0);
      at = scanned.next;
      if (scanned.isAtEnd) {
        const following = nextSegment(folder, at.index);
        if (following === undefined) break;
        // Its last frames may have come after our look and before the next segment: they are looked for once more.
        if (sealed === at.index) at = { index: following, at: segmentHeaderBytes, nextSeq: at.nextSeq };
        else sealed = at.index;
      }
    }
    const last = frames.at(-1);
    place = at === undefined || (last === undefined && at.nextSeq !== fromSeq) ? undefined : at;
    return frames;
  }

  return {
    read,
    get segment() {
      return place?.index;
    },
  };
}

interface Scan {
  readonly frames: readonly SpoolFrame[];
  readonly next: Place;
  readonly isAtEnd: boolean;
}

function scanSegment(folder: string, from: Place, fromSeq: number, bytesMax: number): Scan {
  const file = openSegment(folder, from.index);
  // Dropped since we looked: what follows it is the next place to read.
  if (file === undefined) return { frames: [], next: from, isAtEnd: true };
  try {
    return scanOpen(file, from, fromSeq, bytesMax);
  } finally {
    closeSync(file);
  }
}

function scanOpen(file: number, from: Place, fromSeq: number, bytesMax: number): Scan {
  const segment = decodeSegmentHeader(readAt(file, 0, segmentHeaderBytes));
  const frames: SpoolFrame[] = [];
  let { at, nextSeq } = from;
  if (segment === undefined) return { frames, next: from, isAtEnd: true };
  const size = fstatSync(file).size;
  let window: Buffer = Buffer.alloc(0);
  let windowAt = at;
  for (let taken = 0; taken < bytesMax; ) {
    if (windowAt + window.length < Math.min(size, at + frameHeaderBytes))
      [window, windowAt] = [readAt(file, at, readAheadBytes), at];
    const header = decodeFrameHeader(window, at - windowAt);
    if (header === undefined || at + frameHeaderBytes + header.length > size)
      return { frames, next: { index: from.index, at, nextSeq }, isAtEnd: true };
    if (header.seq >= fromSeq) {
      const start = at + frameHeaderBytes;
      const bytes = sliceOrRead(file, { bytes: window, at: windowAt }, start, header.length);
      frames.push({ seq: header.seq, stream: header.stream, offset: header.offset, bytes, segment });
      taken += header.length + frameHeaderBytes;
    }
    at += frameHeaderBytes + header.length;
    nextSeq = header.seq + 1;
  }
  return { frames, next: { index: from.index, at, nextSeq }, isAtEnd: false };
}

/** The payload may reach beyond what was read ahead, which is used by nobody else but is large. */
function sliceOrRead(
  file: number,
  window: { bytes: Buffer; at: number },
  start: number,
  length: number,
): Buffer {
  const inWindow = start - window.at;
  if (inWindow + length > window.bytes.length) return readAt(file, start, length);
  const bytes = window.bytes.subarray(inWindow, inWindow + length);
  return length < keptBytes ? Buffer.from(bytes) : bytes;
}

function readAt(file: number, position: number, length: number): Buffer {
  // Only what was read of it is given away.
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(file, buffer, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** The last segment that starts at or before `seq`, or the first that is left. */
function findSegment(folder: string, seq: number): Place | undefined {
  let found: Place | undefined;
  for (const index of listSegments(folder)) {
    const header = headerOf(folder, index);
    if (header === undefined) continue;
    if (found !== undefined && header.firstSeq > seq) break;
    found = { index, at: segmentHeaderBytes, nextSeq: header.firstSeq };
  }
  return found;
}

function nextSegment(folder: string, after: number): number | undefined {
  return listSegments(folder).find((index) => index > after);
}

function listSegments(folder: string): readonly number[] {
  try {
    return segmentIndexes(readdirSync(folder));
  } catch {
    // The execution was forgotten while somebody read it: there is nothing more.
    return [];
  }
}

function headerOf(folder: string, index: number): SegmentHeader | undefined {
  const file = openSegment(folder, index);
  if (file === undefined) return undefined;
  try {
    return decodeSegmentHeader(readAt(file, 0, segmentHeaderBytes));
  } finally {
    closeSync(file);
  }
}

function openSegment(folder: string, index: number): number | undefined {
  try {
    return openSync(join(folder, segmentName(index)), "r");
  } catch {
    // Dropped by the writer in between.
    return undefined;
  }
}
