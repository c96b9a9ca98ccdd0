/** Tells text from binary by a file's beginning: text has no NUL and is valid UTF-8 but for a character cut at the end. */
export function looksBinary(start: Uint8Array): boolean {
  if (start.includes(0)) return true;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: true });
    return false;
  } catch {
    return true;
  }
}
