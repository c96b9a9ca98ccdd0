/**
 * Cuts a byte stream into server-sent events. Chunks end anywhere, also inside a character or between CR and LF, so
 * bytes are decoded as a stream and only whole lines are looked at.
 */
export interface SseFrame {
  readonly id: string | undefined;
  readonly data: string;
}

export interface SseParser {
  /** the frames that this chunk completes, in order */
  push(chunk: Uint8Array): readonly SseFrame[];
}

/** larger than any frame that a gateway sends (the contract's clients refuse 1 MiB) */
const frameMaxChars = 4 * 1024 * 1024;

export function createSseParser(): SseParser {
  const decoder = new TextDecoder();
  let rest = "";
  let id: string | undefined;
  let data: string[] = [];

  const takeLine = (line: string): SseFrame | undefined => {
    if (line === "") {
      const frame = data.length === 0 ? undefined : { id, data: data.join("\n") };
      id = undefined;
      data = [];
      return frame;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (field === "data") data.push(value);
    if (field === "id" && !value.includes("\0")) id = value;
    return undefined;
  };

  return {
    push: (chunk) => {
      rest += decoder.decode(chunk, { stream: true });
      if (rest.length > frameMaxChars)
        throw new RangeError(`an event is longer than ${frameMaxChars} characters`);
      const lines = rest.split(/\r\n|\n|\r(?!$)/u);
      rest = lines.pop() ?? "";
      return lines.map(takeLine).filter((frame) => frame !== undefined);
    },
  };
}
