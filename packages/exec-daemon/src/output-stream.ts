/**
 * Answers an attach in Connect's own binary streaming format, without the copies that its adapter makes of each message:
 * output is most of what this daemon sends, and a flood of it must not take the processor from the command.
 *
 * Only the plain case is taken; whatever else a caller may ask for (JSON, a timeout, a compressed message) is Connect's.
 * There is no queue: the next page of events is read when the socket has taken the one before.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { fromBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { type AttachRequest, AttachRequestSchema, Processes } from "@sand/protocol/exec";
import { limits } from "./limits.ts";
import type { Attach } from "./processes/attach.ts";
import { encodeEnvelope, encodeEvent } from "./processes/event-envelope.ts";
import { translateError } from "./rpc-errors.ts";

export interface OutputStream {
  /** Whether `answer` is for this request. */
  takes(request: IncomingMessage): boolean;
  answer(request: IncomingMessage, response: ServerResponse, ending: AbortSignal): void;
}

const contentType = "application/connect+proto";
const method = `${Processes.typeName}/${Processes.method.attach.name}`;
/** what makes a call another than the plain one */
const beyondUs = ["connect-timeout-ms", "connect-content-encoding", "content-encoding"] as const;
const prefixBytes = 5;

export function createOutputStream(attach: Attach, log: Logger): OutputStream {
  /** Until the end, the caller's or ours; the next page waits while the socket is full. */
  async function sendEvents(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const page of attach(await readMessage(request), signal)) {
      // The socket's own cork: a corked response counts what it holds, and waits for a drain that never comes.
      response.socket?.cork();
      for (const event of page) for (const piece of encodeEvent(event)) response.write(piece);
      response.socket?.uncork();
      if (response.writableNeedDrain) await once(response, "drain", { signal });
    }
  }

  async function respond(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    let failure: ConnectError | undefined;
    response.writeHead(200, { "content-type": contentType });
    try {
      await sendEvents(request, response, signal);
    } catch (error) {
      // A caller that has gone is told nothing; one that is still there when we end gets an end in order.
      if (!signal.aborted) failure = translateError(log, error, method);
    }
    const end = JSON.stringify(endStreamToJson(new Headers(), failure, undefined));
    response.end(encodeEnvelope(endStreamFlag, Buffer.from(end)));
  }

  return {
    takes: ({ method: verb, url, headers }) =>
      verb === "POST" &&
      url === `/${method}` &&
      headers["content-type"] === contentType &&
      !beyondUs.some((name) => headers[name] !== undefined),
    answer(request, response, ending) {
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      // Its end says all that there is to say.
      response.on("error", () => gone.abort());
      // It throws nowhere: what goes wrong is told to the caller, or the caller is gone.
      void respond(request, response, AbortSignal.any([gone.signal, ending]));
    },
  };
}

/** The one message that such a call has. */
async function readMessage(request: IncomingMessage): Promise<AttachRequest> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    if (!(piece instanceof Buffer)) continue;
    size += piece.length;
    if (size > limits.requestMaxBytes) throw new BoxError("exec/invalid", "the request is too large");
    pieces.push(piece);
  }
  const body = Buffer.concat(pieces);
  const isWhole = size >= prefixBytes && body[0] === 0 && body.readUInt32BE(1) === size - prefixBytes;
  if (!isWhole) throw new BoxError("exec/invalid", "the request is not one whole message");
  try {
    return fromBinary(AttachRequestSchema, body.subarray(prefixBytes));
  } catch (error) {
    throw new BoxError("exec/invalid", "the message can't be read", { cause: error });
  }
}
