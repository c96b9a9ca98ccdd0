/**
 * Where a text may be cut: never inside a character or an escape sequence (half of one would recolour or garble what
 * follows it), and at a line's end when one is near.
 */

const escapeStart = "\u001b";
/** a longer sequence is taken for stray text */
const escapeMaxChars = 64;
/** how far a cut may move to reach a line's end */
const lineReachChars = 512;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const wholeEscape = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-Z\\^-~])/;

const encoder = new TextEncoder();

/** The longest start of `text` within `maxBytes`, between characters only. */
export function takeFitting(text: string, maxBytes: number): string {
  if (maxBytes <= 0) return "";
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read);
}

/** Moves the end of a text that was cut there to a good place. */
export function trimCutEnd(text: string): string {
  const end = openEscapeAt(text, text.length) ?? text.length;
  const lineEnd = text.lastIndexOf("\n", end - 1) + 1;
  return text.slice(0, lineEnd > 0 && end - lineEnd <= lineReachChars ? lineEnd : end);
}

/** The longest end of `text` that has at most `maxBytes` bytes and begins at a good place. */
export function cutTail(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= maxBytes) return text;
  let from = bytes.length - maxBytes;
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  let start = text.length - bytes.toString("utf8", from).length;
  const opened = openEscapeAt(text, start);
  if (opened !== undefined) {
    const whole = wholeEscape.exec(text.slice(opened, opened + escapeMaxChars));
    if (whole !== null) start = opened + whole[0].length;
  }
  // From one before: a cut that already stands at the start of a line stays there.
  const lineStart = text.indexOf("\n", start - 1) + 1;
  return text.slice(
    lineStart > 0 && lineStart < text.length && lineStart - start <= lineReachChars ? lineStart : start,
  );
}

/** The start of an escape sequence that `index` would cut in two. */
function openEscapeAt(text: string, index: number): number | undefined {
  const from = text.lastIndexOf(escapeStart, index - 1);
  if (from < 0 || index - from > escapeMaxChars) return undefined;
  const whole = wholeEscape.exec(text.slice(from, from + escapeMaxChars));
  // Without an end in sight it is still arriving, or it is no sequence at all: leaving it out is right for both.
  const end = whole === null ? from + escapeMaxChars : from + whole[0].length;
  return index < end ? from : undefined;
}
