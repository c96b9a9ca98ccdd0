/**
 * Keeps the head and the tail of an output and counts what lies between, for a reader with little room, such as a
 * model. Pure: bytes go in as they come, nothing but head, tail and counters is held.
 *
 * Neither cut splits a UTF-8 character or an escape sequence: what would be split is left out with the middle. Bytes
 * that aren't UTF-8 come out as replacement characters, one for each maximal wrong part.
 */
export interface OutputCollector {
  add(bytes: Uint8Array): void;
  /** Counts bytes that are missing from the source itself. */
  lose(count: number): void;
  finish(): CollectedOutput;
}

export interface CollectedOutput {
  readonly head: string;
  /** empty when nothing was left out: the head is then all */
  readonly tail: string;
  readonly omittedBytes: number;
  /** line breaks among the omitted bytes, without those that the source lost */
  readonly omittedLines: number;
  readonly totalBytes: number;
}

export interface OutputBounds {
  readonly headBytes: number;
  readonly tailBytes: number;
}

const lineBreak = 10;
const escapeByte = 27;
/** an escape sequence that is longer than this is noise */
const escapeMaxBytes = 64;

export function createOutputCollector(bounds: OutputBounds): OutputCollector {
  const head: Uint8Array[] = [];
  let headLength = 0;
  let tail: Uint8Array = new Uint8Array(0);
  let omittedBytes = 0;
  let omittedLines = 0;
  let totalBytes = 0;

  function omit(bytes: Uint8Array): void {
    omittedBytes += bytes.length;
    omittedLines += countLines(bytes);
  }

  function addToTail(bytes: Uint8Array): void {
    const joined = concat([tail, bytes]);
    // Cut now and then, not for each small piece, so that many pieces cost what their bytes cost.
    const isFull = joined.length > 2 * bounds.tailBytes + escapeMaxBytes;
    const cut = isFull ? joined.length - bounds.tailBytes : 0;
    omit(joined.subarray(0, cut));
    tail = joined.slice(cut);
  }

  return {
    add(bytes) {
      totalBytes += bytes.length;
      const room = bounds.headBytes - headLength;
      const first = bytes.subarray(0, Math.max(0, room));
      if (first.length > 0) head.push(first.slice());
      headLength += first.length;
      if (first.length < bytes.length) addToTail(bytes.subarray(first.length));
    },
    lose(count) {
      totalBytes += count;
      omittedBytes += count;
      // What comes next doesn't follow on the head, so it can't be shown as if it did.
      headLength = bounds.headBytes;
    },
    finish() {
      const first = concat(head);
      if (omittedBytes === 0 && tail.length <= bounds.tailBytes) {
        return {
          head: decode(concat([first, tail])),
          tail: "",
          omittedBytes: 0,
          omittedLines: 0,
          totalBytes,
        };
      }
      const headEnd = findHeadEnd(first);
      const over = Math.max(0, tail.length - bounds.tailBytes);
      const tailStart = findTailStart(tail, over);
      const cutLines = countLines(first.subarray(headEnd)) + countLines(tail.subarray(0, tailStart));
      return {
        head: decode(first.subarray(0, headEnd)),
        tail: decode(tail.subarray(tailStart)),
        omittedBytes: omittedBytes + first.length - headEnd + tailStart,
        omittedLines: omittedLines + cutLines,
        totalBytes,
      };
    },
  };
}

/** Where the head ends without a half character or a half escape sequence. */
function findHeadEnd(bytes: Uint8Array): number {
  const end = bytes.length - incompleteLength(bytes);
  const from = Math.max(0, end - escapeMaxBytes);
  const start = bytes.subarray(from, end).lastIndexOf(escapeByte);
  if (start < 0) return end;
  return isWholeEscape(bytes.subarray(from + start, end)) ? end : from + start;
}

/** How many bytes at the end begin a character that isn't whole. */
function incompleteLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return lengthOfLead(byte) > back ? back : 0;
  }
  return 0;
}

function lengthOfLead(byte: number): number {
  if (byte >= 0xf0 && byte <= 0xf4) return 4;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  return byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
}

/** Where the tail starts at or after `from`: not inside a character, not inside an escape sequence. */
function findTailStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && at < from + 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  const behind = Math.max(0, at - escapeMaxBytes);
  const start = bytes.subarray(behind, at).lastIndexOf(escapeByte);
  if (start < 0 || isWholeEscape(bytes.subarray(behind + start, at))) return at;
  const ahead = Math.min(bytes.length, behind + start + escapeMaxBytes);
  for (let end = at + 1; end <= ahead; end += 1) {
    if (isWholeEscape(bytes.subarray(behind + start, end))) return end;
  }
  return at;
}

/** True when the bytes, which begin with ESC, contain that whole sequence: CSI, OSC, or two characters. */
function isWholeEscape(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this looks for
  return /^\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[^[\]])/u.test(text);
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, at + 1)) count += 1;
  return count;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
