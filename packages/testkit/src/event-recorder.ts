/**
 * A client of the event stream that keeps every frame it gets, and can be cut at any frame or byte.
 *
 * It asks for ids (`since`), so it resumes after a cut exactly where the last whole frame ended. A frame counts only
 * when its blank line has arrived, as for any client of server-sent events.
 */
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip, constants as zlibConstants } from "node:zlib";
import type { GatewayAccess } from "./gateway-client.ts";

export interface RecordedFrame {
  /** the committed sequence number, `null` for a transient frame */
  readonly seq: number | null;
  readonly channel: string;
  /** the payload as JSON text, for comparing */
  readonly payload: string;
}

export interface StreamSession {
  /** whole event frames so far, in order of arrival */
  readonly frames: readonly RecordedFrame[];
  /** comment lines so far */
  readonly comments: readonly string[];
  /** resolves when the stream is over, from whichever side */
  readonly closed: Promise<void>;
  readonly status: number;
  cut(): void;
}

export interface StreamOptions {
  readonly since?: number;
  readonly channels?: string;
  readonly gzip?: boolean;
  /** called after each whole frame; cutting in here loses nothing that was counted */
  readonly onFrame?: (session: StreamSession) => void;
  /** called with the number of body bytes that have arrived */
  readonly onBytes?: (bytes: number, session: StreamSession) => void;
}

export function openStream(access: GatewayAccess, options: StreamOptions): Promise<StreamSession> {
  const url = new URL(`${access.url}/events`);
  if (options.since !== undefined) url.searchParams.set("since", String(options.since));
  if (options.channels !== undefined) url.searchParams.set("channels", options.channels);
  const headers = {
    authorization: `Bearer ${access.token}`,
    ...(options.gzip === true ? { "accept-encoding": "gzip" } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false });
    request.once("error", reject);
    request.once("response", (response) => {
      request.removeListener("error", reject);
      resolve(readStream(request, response, options));
    });
  });
}

function readStream(
  request: ClientRequest,
  response: IncomingMessage,
  options: StreamOptions,
): StreamSession {
  const frames: RecordedFrame[] = [];
  const comments: string[] = [];
  let isCut = false;
  const { promise: closed, resolve: finish } = Promise.withResolvers<void>();
  const session: StreamSession = {
    frames,
    comments,
    closed,
    status: response.statusCode ?? 0,
    cut() {
      isCut = true;
      request.destroy();
      finish();
    },
  };
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (!isCut) options.onBytes?.(bytes, session);
  });
  const body = plainBody(response);
  const split = createFrameSplitter((block) => {
    if (isCut) return;
    const parsed = parseBlock(block);
    if (parsed === undefined) return;
    if (typeof parsed === "string") comments.push(parsed);
    else {
      frames.push(parsed);
      options.onFrame?.(session);
    }
  });
  body.on("data", split);
  // A broken socket is how most of these streams end; `closed` says it.
  for (const stream of [request, response, body]) stream.on("error", () => finish());
  body.once("close", () => finish());
  response.once("close", () => finish());
  return session;
}

function plainBody(response: IncomingMessage): Readable {
  if (response.headers["content-encoding"] !== "gzip") return response;
  // Sync flush: each frame is read when it arrives, not when the stream ends.
  return response.pipe(createGunzip({ finishFlush: zlibConstants.Z_SYNC_FLUSH }));
}

function createFrameSplitter(onBlock: (block: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder();
  let rest = "";
  return (chunk) => {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
      onBlock(rest.slice(0, end));
      rest = rest.slice(end + 2);
    }
  };
}

function parseBlock(block: string): RecordedFrame | string | undefined {
  const lines = block.split("\n");
  const comment = lines.find((line) => line.startsWith(":"));
  if (comment !== undefined) return comment;
  const data = lines.find((line) => line.startsWith("data: "));
  if (data === undefined) return undefined;
  const id = lines.find((line) => line.startsWith("id: "));
  const body: unknown = JSON.parse(data.slice("data: ".length));
  const { channel, payload } = readEnvelope(body);
  return {
    seq: id === undefined ? null : Number(id.slice("id: ".length)),
    channel,
    payload: JSON.stringify(payload),
  };
}

function readEnvelope(body: unknown): { readonly channel: string; readonly payload: unknown } {
  if (typeof body !== "object" || body === null || !("channel" in body) || !("payload" in body)) {
    throw new Error(`an event frame without channel and payload: ${JSON.stringify(body)}`);
  }
  return { channel: String(body.channel), payload: body.payload };
}
