/**
 * Sends raw bytes over a socket of their own and reads what comes back, with a deadline. It parses no more HTTP than
 * the verdict needs, so that a broken answer is seen as it is.
 */
import { connect } from "node:net";

export interface RawAnswer {
  /** `undefined` when nothing that looks like an answer came */
  readonly status: number | undefined;
  readonly text: string;
  /** the other side neither answered nor hung up */
  readonly timedOut: boolean;
}

export interface SendOptions {
  readonly port: number;
  readonly bytes: Buffer;
  /** hang up as soon as the first bytes are there */
  readonly isOpenEnded: boolean;
  /**
   * close the sending half behind the bytes, so that a server that still waits for more learns that none comes; where
   * the request is whole this would read as the client going away, and the answer would be lost
   */
  readonly hangsUp: boolean;
  readonly deadlineMs: number;
}

/** an answer to a malformed request is short; a stream is cut here */
const answerMaxBytes = 256 * 1024;

export function sendRequest(options: SendOptions): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let timedOut = false;
    const socket = connect({ host: "127.0.0.1", port: options.port });
    const timer = setTimeout(() => {
      timedOut = true;
      socket.destroy();
    }, options.deadlineMs);
    socket.on("connect", () => {
      if (options.hangsUp) socket.end(options.bytes);
      else socket.write(options.bytes);
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > answerMaxBytes || options.isOpenEnded) socket.destroy();
    });
    // A reset is one way of hanging up.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      const text = Buffer.concat(chunks).toString("latin1");
      resolve({ status: statusOf(text), text, timedOut });
    });
  });
}

function statusOf(text: string): number | undefined {
  // An interim answer may stand before the real one; a switch of protocols is the real one.
  const final = text.replace(/^HTTP\/1\.1 10[0235-9] [\s\S]*?\r\n\r\n/u, "");
  const match = /^HTTP\/1\.1 (\d{3}) /u.exec(final);
  return match === null ? undefined : Number(match[1]);
}
