/**
 * Cuts a server's output into messages, one on each line, within bounds.
 *
 * A line that is no JSON object is junk: many servers print a greeting there. It is handed to the log and passed over,
 * but not for ever. A line that is longer than a message may be can't be answered for, so it ends the connection.
 */
import { BoxError } from "@sand/protocol";

export interface MessageLines {
  /** Throws when the connection must end. */
  push(chunk: Buffer): void;
  /** The next message and its size; undefined when there is no whole one. Throws when the connection must end. */
  next(): { readonly message: object; readonly bytes: number } | undefined;
}

export interface MessageLinesDeps {
  readonly messageMaxBytes: number;
  readonly junkLinesMax: number;
  readonly onJunk: (line: Buffer) => void;
}

const newline = 0x0a;

export function createMessageLines(deps: MessageLinesDeps): MessageLines {
  /** whole lines, each without its end */
  let lines: Buffer[] = [];
  let read = 0;
  let open: Buffer[] = [];
  let openBytes = 0;
  let junk = 0;

  function takeOpen(last: Buffer): void {
    open.push(last);
    openBytes += last.length;
    if (openBytes > deps.messageMaxBytes)
      throw new BoxError(
        "mcp/too-large",
        `the server sent a message of more than ${deps.messageMaxBytes} bytes`,
      );
  }

  function parse(line: Buffer): object | undefined {
    if (line.length === 0 || (line.length === 1 && line[0] === 0x0d)) return undefined;
    try {
      const value: unknown = JSON.parse(line.toString("utf8"));
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        junk = 0;
        return value;
      }
    } catch {
      // Not JSON: what it is instead is for the log.
    }
    junk += 1;
    deps.onJunk(line);
    if (junk > deps.junkLinesMax)
      throw new BoxError(
        "mcp/malformed",
        "the server's output isn't the protocol's: line after line is no message",
      );
    return undefined;
  }

  return {
    push(chunk) {
      if (read > 0) {
        lines = lines.slice(read);
        read = 0;
      }
      let from = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        takeOpen(chunk.subarray(from, end));
        lines.push(open.length === 1 && open[0] !== undefined ? open[0] : Buffer.concat(open));
        open = [];
        openBytes = 0;
        from = end + 1;
      }
      if (from < chunk.length) takeOpen(chunk.subarray(from));
    },
    next() {
      while (read < lines.length) {
        const line = lines[read];
        read += 1;
        if (line === undefined) break;
        const message = parse(line);
        if (message !== undefined) return { message, bytes: line.length };
      }
      return undefined;
    },
  };
}
