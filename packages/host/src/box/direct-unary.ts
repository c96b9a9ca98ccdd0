/**
 * Sends a unary call to the daemon as one request with one body, over Node's own HTTP.
 *
 * Connect's own transport gives a call to streams, header objects and several writes, which cost a short command more
 * than its message does. The protocol is the same; streams stay with that transport. Only what the daemon's answers
 * need is here: no compression, no trailers.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { codeFromHttpStatus, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";

export interface DirectUnaryDeps {
  readonly baseUrl: string;
  readonly token: () => string;
  /** bytes of an answer; a longer one fails */
  readonly answerMaxBytes: number;
}

interface Answer {
  readonly message: IncomingMessage;
  readonly body: Buffer;
}

const binary = "application/proto";

/** A transport's call of one message for one; headers of the caller's own aren't sent. */
export function createDirectUnary(deps: DirectUnaryDeps): Transport["unary"] {
  return async function unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    ...[, input]: [header: unknown, input: MessageInitShape<I>, contextValues?: unknown]
  ): Promise<UnaryResponse<I, O>> {
    const url = new URL(`/${method.parent.typeName}/${method.name}`, deps.baseUrl);
    const body = toBinary(method.input, create(method.input, input));
    const answer = await exchange({ deps, url, body, timeoutMs }, signal);
    return {
      ...{ stream: false, service: method.parent, method },
      message: fromBinary(method.output, bodyOf(answer)),
      // Nobody has asked for them so far, and to make them loads what else the host can do without.
      get header() {
        return new Headers();
      },
      get trailer() {
        return new Headers();
      },
    };
  };
}

function bodyOf({ message, body }: Answer): Buffer {
  const { statusCode = 0, headers } = message;
  if (statusCode === 200 && headers["content-type"] === binary) return body;
  const code = statusCode === 200 ? Code.Unknown : codeFromHttpStatus(statusCode);
  const fallback = new ConnectError(`HTTP ${statusCode}`, code);
  const told = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  throw errorFromJsonBytes(body, new Headers(told), fallback);
}

interface Exchange {
  readonly deps: DirectUnaryDeps;
  readonly url: URL;
  readonly body: Uint8Array;
  readonly timeoutMs: number | undefined;
}

/** The answer with its whole body; rejects with a `ConnectError`, or with the signal's reason. */
async function exchange(asked: Exchange, signal: AbortSignal | undefined): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = send(asked);
  let answer: IncomingMessage | undefined;
  const giveUp = (why: unknown): void => {
    reject(why);
    // An answer that has come may have no more of the request's socket, whose error would be nobody's.
    if (answer === undefined) request.destroy();
    else answer.destroy();
  };
  const fail = (error: unknown): void => giveUp(ConnectError.from(error, Code.Unavailable));
  request.on("error", fail);
  request.once("response", (message) => {
    answer = message;
    readWhole(message, asked.deps.answerMaxBytes).then((body) => resolve({ message, body }), fail);
  });
  const onAbort = (): void => giveUp(signal?.reason);
  const timer = asked.timeoutMs === undefined ? undefined : setTimeout(onLate, asked.timeoutMs);
  function onLate(): void {
    giveUp(new ConnectError("the deadline has passed", Code.DeadlineExceeded));
  }
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function send({ deps, url, body, timeoutMs }: Exchange): ReturnType<typeof requestHttp> {
  const request = requestHttp(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${deps.token()}`,
      "content-type": binary,
      "content-length": body.length,
      "connect-protocol-version": "1",
      ...(timeoutMs === undefined ? {} : { "connect-timeout-ms": String(timeoutMs) }),
    },
  });
  request.end(body);
  return request;
}

async function readWhole(message: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  message.on("error", () => undefined);
  for await (const piece of message) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new ConnectError("the answer is too long", Code.ResourceExhausted);
    pieces.push(piece);
  }
  if (!message.complete) throw new ConnectError("the answer broke off", Code.Unavailable);
  return Buffer.concat(pieces);
}
