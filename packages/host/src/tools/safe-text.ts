/**
 * Text that is safe to store, to send to a provider and to show: NULs and lone surrogates break JSON parsers,
 * databases and providers (rule 9 of the step loop), and a file's name may hold a line break.
 */

/** a character of text that no UTF-8 file or command line can hold */
const unsafe = /\0|\p{Surrogate}/u;
const nuls = /\0/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the point
const controls = /[\u0000-\u001f\u007f]/;

export function isSafeText(text: string): boolean {
  return !unsafe.test(text);
}

/** A NUL becomes the picture of one, a lone surrogate the replacement character; all else stays as it is. */
export function makeTextSafe(text: string): string {
  return text.toWellFormed().replace(nuls, "\u2400");
}

/** One line for people, with every run of blanks as one, cut to `maxChars`. */
export function toOneLine(text: string, maxChars: number): string {
  const line = makeTextSafe(text.slice(0, maxChars * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).toWellFormed()}…`;
}

/** A file's name as it is, or as a JSON string when it holds control characters that would forge a line. */
export function quoteName(name: string): string {
  return controls.test(name) ? JSON.stringify(makeTextSafe(name)) : makeTextSafe(name);
}

export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** How many line ends a text holds. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
