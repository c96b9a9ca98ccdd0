/**
 * Reads whole lines of a file page by page, so that line 2 of a huge file costs one page and memory stays bounded.
 * A single line that is too long to show is shown in part and said so.
 */
import type { FileContent, Refused } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { createStreamDecoder } from "./decode-output.ts";
import { readFirstPageMaxBytes, readPageMaxBytes, readScanMaxBytes, resultTextMaxBytes } from "./limits.ts";

export interface LineRange {
  /** from 1 */
  readonly firstLine: number;
  readonly linesMax: number;
}

/** what was read for a range of lines */
export interface GatheredLines {
  readonly outcome: "ok";
  /** the text from the first line on, maybe more than is shown */
  readonly text: string;
  /** lines of the file that were passed over before `text` */
  readonly skippedLines: number;
  readonly first: FileContent;
  readonly reachedEnd: boolean;
  readonly changed: boolean;
  readonly lossy: boolean;
  readonly scanLimitHit: boolean;
  /** the file's last byte, when the end was reached, is a line end */
  readonly endsWithNewline: boolean;
}

const newline = 0x0a;

export async function gatherLines(
  box: BoxPort,
  path: string,
  range: LineRange,
  signal: AbortSignal,
): Promise<GatheredLines | Refused> {
  const decoder = createStreamDecoder();
  let first: FileContent | undefined;
  let offset = 0;
  let skippedLines = 0;
  let text = "";
  let changed = false;
  for (;;) {
    const page = await box.files.read(
      path,
      { offset, lengthMax: offset === 0 ? readFirstPageMaxBytes : readPageMaxBytes },
      signal,
    );
    if (page.outcome === "refused") return page;
    first ??= page;
    changed ||= page.sha256 !== first.sha256 || page.totalBytes < first.totalBytes;
    offset += page.bytes.length;
    const start = findLine(page.bytes, range.firstLine - 1 - skippedLines);
    skippedLines += start.passed;
    text += decoder.decode(page.bytes.subarray(start.at));
    const reachedEnd = page.bytes.length === 0 || offset >= page.totalBytes;
    if (reachedEnd) text += decoder.flush();
    const scanLimitHit = offset >= readScanMaxBytes;
    const isBinary = first === page && page.bytes.includes(0);
    if (reachedEnd || scanLimitHit || isBinary || holdsEnough(text, range.linesMax)) {
      return {
        outcome: "ok",
        text,
        skippedLines,
        first,
        reachedEnd,
        changed,
        lossy: decoder.lossy(),
        scanLimitHit,
        endsWithNewline: page.bytes.at(-1) === newline,
      };
    }
  }
}

/** Passes over `lines` line ends: where the wanted line begins, or the end of the bytes. */
function findLine(bytes: Uint8Array, lines: number): { readonly at: number; readonly passed: number } {
  let at = 0;
  let passed = 0;
  while (passed < lines) {
    const end = bytes.indexOf(newline, at);
    if (end < 0) return { at: bytes.length, passed };
    at = end + 1;
    passed += 1;
  }
  return { at, passed };
}

function holdsEnough(text: string, linesMax: number): boolean {
  return text.length > resultTextMaxBytes || endOfLines(text, linesMax) !== undefined;
}

/** The index after the `lines`-th line end. */
export function endOfLines(text: string, lines: number): number | undefined {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const end = text.indexOf("\n", at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  return at;
}
