/**
 * Makes foreign text safe for a terminal. What a model or a command prints may hold escape sequences that move the
 * cursor, change the window's title or answer as if the user had typed; only line breaks and tabs are let through.
 */
// Control sequences (CSI), operating system commands (OSC, ended by BEL or ST), and two-character escapes.
const escapeSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\^_=>]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controlCharacter = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;

export function plainText(text: string): string {
  // A bare carriage return draws a progress bar over itself; as a line break nothing of it is lost.
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\r", "\n")
    .replace(escapeSequence, "")
    .replace(controlCharacter, "");
}

/** One line of at most `width` characters, for lists and headings. */
export function oneLine(text: string, width: number): string {
  const flat = plainText(text).replace(/\s+/gu, " ").trim();
  const characters = Array.from(flat);
  return characters.length <= width ? flat : `${characters.slice(0, Math.max(1, width - 1)).join("")}…`;
}
