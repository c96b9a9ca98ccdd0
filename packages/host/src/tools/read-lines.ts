/**
 * Reads whole lines of a file page by page, so that line 2 of a huge file costs one page and memory stays bounded.
 * A single line that is too long to show is shown in part and said so.
 */
import type { ToolSettlement } from "@sand/agent-core";
import type { FileContent, Refused } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { takeFitting } from "./cut-text.ts";
import { createStreamDecoder } from "./decode-output.ts";
import { readPageMaxBytes, readScanMaxBytes, resultTextMaxBytes } from "./limits.ts";
import { quoteName, utf8Length } from "./safe-text.ts";
import { settleError, settleOk, settleRefused } from "./settlements.ts";

export interface LineRange {
  /** from 1 */
  readonly firstLine: number;
  readonly linesMax: number;
}

interface Gathered {
  /** the text from the first line on, maybe more than is shown */
  readonly text: string;
  /** lines of the file that were passed over before `text` */
  readonly skippedLines: number;
  readonly first: FileContent;
  readonly reachedEnd: boolean;
  readonly changed: boolean;
  readonly lossy: boolean;
  readonly scanLimitHit: boolean;
}

const newline = 0x0a;

export async function readLines(
  box: BoxPort,
  path: string,
  range: LineRange,
  signal: AbortSignal,
): Promise<ToolSettlement> {
  const gathered = await gatherLines(box, path, range, signal);
  if (isRefused(gathered)) return settleRefused(`ReadFile ${quoteName(path)}`, gathered);
  return settleLines(path, range, gathered);
}

async function gatherLines(
  box: BoxPort,
  path: string,
  range: LineRange,
  signal: AbortSignal,
): Promise<Gathered | Refused> {
  const decoder = createStreamDecoder();
  let first: FileContent | undefined;
  let offset = 0;
  let skippedLines = 0;
  let text = "";
  let changed = false;
  for (;;) {
    const page = await box.files.read(path, { offset, lengthMax: readPageMaxBytes }, signal);
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
      return { text, skippedLines, first, reachedEnd, changed, lossy: decoder.lossy(), scanLimitHit };
    }
  }
}

function isRefused(gathered: Gathered | Refused): gathered is Refused {
  return "outcome" in gathered;
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
function endOfLines(text: string, lines: number): number | undefined {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    const end = text.indexOf("\n", at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  return at;
}

function settleLines(path: string, range: LineRange, gathered: Gathered): ToolSettlement {
  const { first, skippedLines } = gathered;
  const name = quoteName(path);
  const facts = `${first.totalBytes} bytes${first.sha256 === "" ? "" : `, sha256 ${first.sha256}`}`;
  const details = { path: first.path, totalBytes: first.totalBytes, sha256: first.sha256 };
  if (first.bytes.includes(0)) {
    return settleError(
      `${name} is a binary file (${facts}) and isn't shown. Look at it with Shell, for instance by od or file.`,
      { ...details, binary: true },
    );
  }
  if (first.totalBytes === 0) return settleOk(`${name}: empty file, ${facts}`, details);
  if (gathered.text === "") {
    const why = gathered.scanLimitHit
      ? `line ${range.firstLine} is further in than ReadFile searches; use Shell`
      : `it has only ${skippedLines} lines`;
    return settleError(`${name}: there is no line ${range.firstLine} to show: ${why}`, details);
  }
  const shown = chooseShown(gathered.text, range.linesMax);
  const lastLine = skippedLines + shown.lines;
  const isEnd = gathered.reachedEnd && shown.text.length === gathered.text.length;
  const notes: string[] = [];
  if (shown.partial)
    notes.push(`line ${lastLine} is too long and shown in part; use Shell (cut -c, tail -c) for the rest`);
  if (!isEnd) notes.push(`more follows: offset ${lastLine + 1}`);
  if (gathered.lossy) notes.push("bytes that aren't UTF-8 are shown as \uFFFD");
  if (gathered.changed) notes.push("the file was changed while it was read");
  if (isEnd && !shown.text.endsWith("\n")) notes.push("no line end at the end of the file");
  const tail = notes.length === 0 ? "" : `${shown.text.endsWith("\n") ? "" : "\n"}[${notes.join("; ")}]`;
  const of = isEnd ? ` of ${lastLine}` : "";
  return settleOk(`${name}: lines ${skippedLines + 1}-${lastLine}${of}, ${facts}\n${shown.text}${tail}`, {
    ...details,
    firstLine: skippedLines + 1,
    lastLine,
    isEnd,
    lossy: gathered.lossy,
  });
}

/** The whole lines that fit; when not even one does, as much of it as fits. */
function chooseShown(
  text: string,
  linesMax: number,
): { readonly text: string; readonly lines: number; readonly partial: boolean } {
  const wanted = text.slice(0, endOfLines(text, linesMax) ?? text.length);
  const fitting = takeFitting(wanted, resultTextMaxBytes);
  const whole = fitting.length === wanted.length ? wanted : wanted.slice(0, fitting.lastIndexOf("\n") + 1);
  if (whole === "" && utf8Length(fitting) > 0) return { text: fitting, lines: 1, partial: true };
  const ends = whole.split("\n").length - 1;
  return { text: whole, lines: whole.endsWith("\n") ? ends : ends + 1, partial: false };
}
