/**
 * Carries one call to the daemon and its answer back, stream or not. It holds no more than what two sockets hold.
 * Who goes away on one side ends the other; a daemon that dies in the middle of an answer cuts it off, so that nobody
 * takes half an answer for a whole one.
 */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { pipeline } from "node:stream";
import { BoxError } from "@sand/protocol";
import { headersIn, headersOut } from "./relay-headers.ts";
import { describeRefusal } from "./relay-refusal.ts";

export interface RelayTo {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly path: string;
}

export interface RelayedCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly to: RelayTo;
  /** aborted when the gateway closes */
  readonly signal: AbortSignal;
}

/** `release` is called once, when nothing is left of the call. */
export function relayCall(call: RelayedCall, release: () => void): void {
  const { request, response, requestId, to, signal } = call;
  const { host, port, path, token } = to;
  const upstream = httpRequest({
    ...{ host, port, path, method: request.method, agent: false },
    headers: headersIn(request, token),
  });
  const end = (): void => {
    upstream.destroy();
    response.destroy();
  };
  signal.addEventListener("abort", end, { once: true });
  response.once("close", () => {
    signal.removeEventListener("abort", end);
    upstream.destroy();
    release();
  });
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, { ...headersOut(answer), "x-sand-request-id": requestId });
    response.flushHeaders();
    // Either end's failure takes the other along; there is nobody left to tell.
    pipeline(answer, response, () => undefined);
  });
  upstream.on("error", (error) => refuse(response, requestId, error));
  sendBody(request, upstream);
  // It went away while the box was looked for.
  if (response.destroyed || signal.aborted) end();
}

/** Not a pipeline: that would take the client's connection along, and with it the answer. */
function sendBody(request: IncomingMessage, upstream: ClientRequest): void {
  request.once("error", () => upstream.destroy());
  request.pipe(upstream);
}

function refuse(response: ServerResponse, requestId: string, cause: Error): void {
  if (response.destroyed || response.writableEnded) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, headers, body } = describeRefusal(
    new BoxError("box/unavailable", "the exec-daemon went away", { cause }),
  );
  response.writeHead(status, { ...headers, "x-sand-request-id": requestId, connection: "close" });
  response.end(body);
}
