/**
 * Exact replacement in a file's bytes. Bytes, not text: what isn't UTF-8 elsewhere in the file stays as it is. The
 * old text has to be there exactly once, unless every place is asked for; anything near a match is told, never used.
 */

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export type ReplaceOutcome =
  /** `line` is the first place, from 1 */
  | { readonly outcome: "replaced"; readonly bytes: Buffer; readonly count: number; readonly line: number }
  | { readonly outcome: "refused"; readonly reason: string };

const linesNamedMax = 5;

export function replaceExactly(
  content: Buffer,
  { oldText, newText, replaceAll }: Replacement,
): ReplaceOutcome {
  if (oldText === newText)
    return { outcome: "refused", reason: "oldText and newText are the same, so nothing would change" };
  const wanted = Buffer.from(oldText, "utf8");
  const places = findPlaces(content, wanted, replaceAll);
  const first = places[0];
  if (first === undefined)
    return {
      outcome: "refused",
      reason: `oldText is not in the file${explainMiss(content.toString("utf8"), oldText)}`,
    };
  if (places.length > 1 && !replaceAll) {
    const lines = places.slice(0, linesNamedMax).map((place) => lineOf(content, place));
    const named = `${lines.join(", ")}${places.length > lines.length ? " and more" : ""}`;
    return {
      outcome: "refused",
      reason: `oldText is in the file ${places.length} times (lines ${named}); add the text around it, or set replaceAll`,
    };
  }
  const bytes = spliceAll(content, places, wanted.length, Buffer.from(newText, "utf8"));
  return { outcome: "replaced", bytes, count: places.length, line: lineOf(content, first) };
}

/** Overlapping places count as several when one is wanted, because either could be meant; they can't all be replaced. */
function findPlaces(content: Buffer, wanted: Buffer, apart: boolean): number[] {
  const places: number[] = [];
  const step = apart ? wanted.length : 1;
  for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + step)) places.push(at);
  return places;
}

function spliceAll(content: Buffer, places: readonly number[], oldLength: number, fresh: Buffer): Buffer {
  const parts: Buffer[] = [];
  let kept = 0;
  for (const place of places) {
    parts.push(content.subarray(kept, place), fresh);
    kept = place + oldLength;
  }
  return Buffer.concat([...parts, content.subarray(kept)]);
}

function lineOf(content: Buffer, place: number): number {
  let line = 1;
  for (let at = content.indexOf(0x0a); at >= 0 && at < place; at = content.indexOf(0x0a, at + 1)) line += 1;
  return line;
}

/** What is probably different, so that the next try is right. */
function explainMiss(content: string, oldText: string): string {
  if (
    content.includes("\r\n") &&
    content.replaceAll("\r\n", "\n").includes(oldText.replaceAll("\r\n", "\n"))
  ) {
    return ": the file's lines end with CRLF (\\r\\n), oldText's differ";
  }
  const lines = oldText.split("\n").map((line) => line.trim());
  const anchor = lines.find((line) => line !== "");
  if (anchor === undefined) return "";
  const index = content.split("\n").findIndex((line) => line.trim() === anchor);
  if (index < 0) return ". Read the file again: it has no such line";
  return `. Line ${index + 1} is like oldText's ${JSON.stringify(anchor.slice(0, 60).toWellFormed())}, but the blanks or the lines around it differ`;
}
