/**
 * Keeps the head and the tail of an output and counts the rest, while it arrives: memory stays the same for ten
 * bytes and for ten gigabytes.
 *
 * Positions are in bytes of UTF-8 over the whole output as it is shown (both streams in the order in which they were
 * captured, bytes that nobody kept counted too), and the same positions are understood by a read of the handle.
 */
import { cutTail, takeFitting, trimCutEnd } from "./cut-text.ts";
import { outputHeadMaxBytes, outputTailMaxBytes } from "./limits.ts";
import { utf8Length } from "./safe-text.ts";

export interface CapturedOutput {
  /** the whole output, or its head and tail with a line between them that says what is left out */
  readonly text: string;
  readonly totalBytes: number;
  readonly totalLines: number;
  /** what `text` leaves out though it was there */
  readonly omittedBytes: number;
  readonly omittedLines: number;
  /** what was lost before it could be captured */
  readonly lostBytes: number;
}

export interface OutputCapture {
  add(text: string): void;
  /** `bytes` of the output are gone; `reason` is shown in their place */
  addGap(bytes: number, reason: string): void;
  finish(): CapturedOutput;
}

interface Piece {
  text: string;
  bytes: number;
}

/** Small pieces are joined up to this size, so that a flood of short lines isn't a flood of objects. */
const pieceMaxChars = 4 * 1024;

export function createOutputCapture(
  headMaxBytes = outputHeadMaxBytes,
  tailMaxBytes = outputTailMaxBytes,
): OutputCapture {
  let head = "";
  let headBytes = 0;
  let headOpen = true;
  let tail: Piece[] = [];
  let tailBytes = 0;
  let evicted = { bytes: 0, lines: 0 };
  const totals = { bytes: 0, lines: 0, lost: 0 };

  function addToTail(text: string): void {
    for (let at = 0; at < text.length; ) {
      const last = tail.at(-1);
      const room = pieceMaxChars - (last?.text.length ?? pieceMaxChars);
      let end = Math.min(text.length, at + (room > 0 ? room : pieceMaxChars));
      if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
      const part = text.slice(at, end);
      const bytes = utf8Length(part);
      if (last !== undefined && room > 0) {
        last.text += part;
        last.bytes += bytes;
      } else {
        tail.push({ text: part, bytes });
      }
      tailBytes += bytes;
      at = end;
    }
    evict();
  }

  /** Whole pieces only; the last cut is made once, at the end. */
  function evict(): void {
    let count = 0;
    for (const piece of tail) {
      if (tailBytes - piece.bytes < tailMaxBytes) break;
      tailBytes -= piece.bytes;
      evicted = { bytes: evicted.bytes + piece.bytes, lines: evicted.lines + countLines(piece.text) };
      count += 1;
    }
    if (count > 0) tail = tail.slice(count);
  }

  function append(text: string): void {
    let rest = text;
    if (headOpen) {
      const fitting = takeFitting(text, headMaxBytes - headBytes);
      head += fitting;
      headBytes += utf8Length(fitting);
      rest = text.slice(fitting.length);
      headOpen = rest.length === 0;
    }
    if (rest.length > 0) addToTail(rest);
  }

  return {
    add(text) {
      totals.bytes += utf8Length(text);
      totals.lines += countLines(text);
      append(text);
    },
    addGap(bytes, reason) {
      totals.bytes += bytes;
      totals.lost += bytes;
      append(`\n[${bytes} bytes are missing here: ${reason}]\n`);
    },
    finish() {
      const counts = { totalBytes: totals.bytes, totalLines: totals.lines, lostBytes: totals.lost };
      const rest = tail.map((piece) => piece.text).join("");
      if (evicted.bytes === 0 && tailBytes <= tailMaxBytes) {
        return { ...counts, text: head + rest, omittedBytes: 0, omittedLines: 0 };
      }
      const shownHead = trimCutEnd(head);
      const shownTail = cutTail(rest, tailMaxBytes);
      const left = head.slice(shownHead.length) + rest.slice(0, rest.length - shownTail.length);
      const from = utf8Length(shownHead);
      const to = Math.max(from, totals.bytes - utf8Length(shownTail));
      const omittedBytes = Math.max(0, to - from - totals.lost);
      const omittedLines = evicted.lines + countLines(left);
      const lost = totals.lost > 0 ? `; ${totals.lost} bytes were lost before they could be kept` : "";
      const notice = `[${omittedBytes} bytes, ${omittedLines} lines left out here: bytes ${from} to ${to}${lost}]`;
      return {
        ...counts,
        text: `${onOwnLine(shownHead)}${notice}\n${shownTail}`,
        omittedBytes,
        omittedLines,
      };
    },
  };
}

function onOwnLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
