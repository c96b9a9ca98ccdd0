/** Answers what isn't HTTP, or arrives too slowly, with the same kind of body as everything else, and hangs up. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

interface ParserError extends Error {
  readonly code?: string;
}

export function answerMalformed(error: ParserError, socket: Socket): void {
  // Into a connection that has already carried an answer, a second head could land inside an event stream.
  if (error.code === "ECONNRESET" || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const { status, text } = describe(error.code);
  const body = JSON.stringify({ error: text, failureCode: "gateway/bad-request" });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function describe(code: string | undefined): { readonly status: number; readonly text: string } {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: 408, text: "the request took too long to arrive" };
  if (code === "HPE_HEADER_OVERFLOW") return { status: 431, text: "the headers are too large" };
  return { status: 400, text: "the request is malformed" };
}
