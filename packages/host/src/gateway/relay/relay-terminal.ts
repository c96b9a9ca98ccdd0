/**
 * Carries the connection of one terminal. The daemon is asked first: what it refuses is passed on as it says it, and
 * only once it has agreed is the client's connection turned into a WebSocket. From then on it is bytes, with no more
 * in between than two sockets hold. That a client is still there is the daemon's business, which pings.
 */
import { request as httpRequest, type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { BoxError } from "@sand/protocol";
import type { RelayTo } from "./relay-call.ts";
import { upgradeHeadersIn } from "./relay-headers.ts";
import { relayLimits } from "./relay-limits.ts";
import { describeRefusal } from "./relay-refusal.ts";

export interface RelayedTerminal {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** what the client sent behind its request */
  readonly head: Buffer;
  readonly to: RelayTo;
  /** aborted when the gateway closes */
  readonly signal: AbortSignal;
}

export function relayTerminal({ request, socket, head, to, signal }: RelayedTerminal): void {
  const { host, port, path, token } = to;
  const upstream = httpRequest({
    ...{ host, port, path, method: "GET", agent: false },
    headers: upgradeHeadersIn(request, token),
  });
  const end = (): void => {
    upstream.destroy();
    socket.destroy();
  };
  signal.addEventListener("abort", end, { once: true });
  socket.once("close", () => {
    signal.removeEventListener("abort", end);
    upstream.destroy();
  });
  upstream.on("error", (cause) => {
    refuseSocket(socket, new BoxError("box/unavailable", "the exec-daemon went away", { cause }));
  });
  upstream.on("response", (answer) => void passRefusal(answer, socket));
  upstream.on("upgrade", (answer, inner, first) => {
    socket.write(headOf(answer));
    join(socket, inner, { head, first });
  });
  upstream.end();
  // It went away while the box was looked for.
  if (socket.destroyed || signal.aborted) end();
}

function join(socket: Duplex, inner: Duplex, { head, first }: { head: Buffer; first: Buffer }): void {
  if (first.length > 0) socket.write(first);
  if (head.length > 0) inner.write(head);
  inner.on("error", () => socket.destroy());
  socket.once("close", () => inner.destroy());
  inner.once("close", () => {
    // Its last words are still on their way, for as long as somebody takes them.
    const timer = setTimeout(() => socket.destroy(), relayLimits.drainMaxMs);
    socket.once("close", () => clearTimeout(timer));
    socket.end();
  });
  inner.pipe(socket);
  socket.pipe(inner);
}

function headOf(answer: IncomingMessage): string {
  const { rawHeaders } = answer;
  const lines = [`HTTP/1.1 101 ${STATUS_CODES[101] ?? ""}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

async function passRefusal(answer: IncomingMessage, socket: Duplex): Promise<void> {
  let text = "";
  try {
    for await (const part of answer) {
      text += String(part);
      if (text.length > relayLimits.refusalMaxBytes) break;
    }
  } catch {
    // Half of what it said is still better than nothing.
  }
  sendRefusal(socket, answer.statusCode ?? 502, text);
}

export function refuseSocket(socket: Duplex, error: unknown): void {
  const { status, body } = describeRefusal(error);
  sendRefusal(socket, status, body);
}

function sendRefusal(socket: Duplex, status: number, body: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...["connection: close", "content-type: application/json", `content-length: ${Buffer.byteLength(body)}`],
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
