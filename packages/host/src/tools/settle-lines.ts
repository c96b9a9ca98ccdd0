/** The text of a read by lines: which lines these are, the file's size and digest, the lines, and what to know of them. */
import type { ToolSettlement } from "@sand/agent-core";
import { takeFitting } from "./cut-text.ts";
import { endOfLines, type GatheredLines, type LineRange } from "./gather-lines.ts";
import { resultTextMaxBytes } from "./limits.ts";
import { countLines, quoteName } from "./safe-text.ts";
import { settleError, settleOk } from "./settlements.ts";

export function settleLines(path: string, range: LineRange, gathered: GatheredLines): ToolSettlement {
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
    return settleError(
      `${name}: there is no line ${range.firstLine} to show: ${explainNothing(gathered)}`,
      details,
    );
  }
  const shown = chooseShown(gathered.text, range.linesMax);
  const lastLine = skippedLines + shown.lines;
  const isEnd = gathered.reachedEnd && shown.text.length === gathered.text.length;
  const notes = collectNotes(gathered, shown, { lastLine, isEnd });
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

function explainNothing(gathered: GatheredLines): string {
  if (gathered.scanLimitHit) return "it is further in than ReadFile searches; use Shell";
  return `the file has only ${gathered.skippedLines + (gathered.endsWithNewline ? 0 : 1)} lines`;
}

interface ShownLines {
  readonly text: string;
  readonly lines: number;
  /** not even the first line fits */
  readonly partial: boolean;
}

function collectNotes(
  gathered: GatheredLines,
  shown: ShownLines,
  { lastLine, isEnd }: { readonly lastLine: number; readonly isEnd: boolean },
): string[] {
  const notes: string[] = [];
  if (shown.partial)
    notes.push(`line ${lastLine} is too long and shown in part; use Shell (cut -c, tail -c) for the rest`);
  if (!isEnd) notes.push(`more follows: offset ${lastLine + 1}`);
  if (gathered.lossy) notes.push("bytes that aren't UTF-8 are shown as \uFFFD");
  if (gathered.changed) notes.push("the file was changed while it was read");
  if (isEnd && !shown.text.endsWith("\n")) notes.push("no line end at the end of the file");
  return notes;
}

/** The whole lines that fit; when not even one does, as much of it as fits. */
function chooseShown(text: string, linesMax: number): ShownLines {
  const wanted = text.slice(0, endOfLines(text, linesMax) ?? text.length);
  const fitting = takeFitting(wanted, resultTextMaxBytes);
  const whole = fitting.length === wanted.length ? wanted : wanted.slice(0, fitting.lastIndexOf("\n") + 1);
  if (whole === "") return { text: fitting, lines: 1, partial: true };
  return { text: whole, lines: countLines(whole) + (whole.endsWith("\n") ? 0 : 1), partial: false };
}
