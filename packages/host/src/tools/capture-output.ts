/**
 * Keeps the head and the tail of an output and counts the rest, while it arrives: memory stays the same for ten
 * bytes and for ten gigabytes.
 *
 * Positions are in bytes of UTF-8 over the whole output as it is shown (both streams in the order in which they were
 * captured, bytes that nobody kept counted too), and the same positions are understood by a read of the handle.
 */
import { cutTail, takeFitting, trimCutEnd } from "./cut-text.ts";
import { outputHeadMaxBytes, outputTailMaxBytes } from "./limits.ts";
import { countLines, utf8Length } from "./safe-text.ts";
import { createTailKeeper } from "./tail-keeper.ts";

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

interface Totals {
  bytes: number;
  lines: number;
  lost: number;
}

export function createOutputCapture(
  headMaxBytes = outputHeadMaxBytes,
  tailMaxBytes = outputTailMaxBytes,
): OutputCapture {
  const tail = createTailKeeper(tailMaxBytes);
  const totals: Totals = { bytes: 0, lines: 0, lost: 0 };
  let head = "";
  let headRoom = headMaxBytes;
  let headOpen = true;
  let tailAdded = 0;

  function append(text: string): void {
    let rest = text;
    if (headOpen) {
      const fitting = takeFitting(text, headRoom);
      head += fitting;
      headRoom -= utf8Length(fitting);
      rest = text.slice(fitting.length);
      headOpen = rest.length === 0;
    }
    tail.add(rest);
    tailAdded += utf8Length(rest);
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
      if (tailAdded <= tailMaxBytes)
        return { ...counts, text: head + tail.text(), omittedBytes: 0, omittedLines: 0 };
      const rest = tail.text();
      const shownHead = trimCutEnd(head);
      const shownTail = cutTail(rest, tailMaxBytes);
      const left =
        countLines(head.slice(shownHead.length)) + countLines(rest.slice(0, rest.length - shownTail.length));
      return { ...counts, ...joinCut(shownHead, shownTail, totals, tail.droppedLines() + left) };
    },
  };
}

function joinCut(head: string, tail: string, totals: Totals, omittedLines: number) {
  const from = utf8Length(head);
  const to = Math.max(from, totals.bytes - utf8Length(tail));
  const omittedBytes = Math.max(0, to - from - totals.lost);
  const lost = totals.lost > 0 ? `; ${totals.lost} bytes were lost before they could be kept` : "";
  const notice = `[${omittedBytes} bytes, ${omittedLines} lines left out here: bytes ${from} to ${to}${lost}]`;
  const onOwnLine = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return { text: `${onOwnLine}${notice}\n${tail}`, omittedBytes, omittedLines };
}
