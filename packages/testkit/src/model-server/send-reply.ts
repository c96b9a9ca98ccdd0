/**
 * Writes one scripted reply to the wire, with what goes wrong on the way.
 *
 * Every wait ends when the connection does (`gone`), also by the server's own end, so no request outlives its test.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "@sand/protocol";
import type { ModelFault, ModelReply } from "./model-script.ts";
import type { ReplyIdentity, WireFormat } from "./wire-format.ts";

export interface ReplySending {
  readonly response: ServerResponse;
  readonly reply: ModelReply;
  readonly fault: ModelFault | undefined;
  readonly format: WireFormat;
  readonly identity: ReplyIdentity;
  readonly stream: boolean;
  /** aborts when the connection closes, from either side */
  readonly gone: AbortSignal;
}

const waitMaxMs = 600_000;

export async function sendReply(sending: ReplySending): Promise<void> {
  const { response, reply, fault, format, identity, gone } = sending;
  if (fault?.kind === "delay") await pause(fault.ms, gone);
  if (fault?.kind === "hang" && fault.at === "headers") await pause(waitMaxMs, gone);
  if (gone.aborted) return;
  if (fault?.kind === "status") {
    const headers = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
    const error = fault.error ?? statusError(fault.status);
    sendJson(response, fault.status, format.errorBody(error), headers);
    return;
  }
  if (fault?.kind === "body") {
    response.writeHead(200, { "content-type": fault.contentType }).end(fault.text);
    return;
  }
  if (!sending.stream) {
    sendJson(response, 200, format.encodeBody(reply, identity));
    return;
  }
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  response.flushHeaders();
  await sendFrames(sending, framesWithFault(sending));
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function sendFrames(sending: ReplySending, frames: readonly string[]): Promise<void> {
  const { response, fault, gone } = sending;
  if (fault?.kind === "cut") {
    const whole = Buffer.from(fault.recorded ?? frames.join(""));
    await sendCut(response, whole.subarray(0, fault.atByte), fault.how ?? "break");
    return;
  }
  const silentFrom = fault?.kind === "hang" ? hangPlace(fault.at, frames.length) : frames.length;
  for (const frame of frames.slice(0, silentFrom)) {
    if (sending.reply.frameDelayMs !== undefined) await pause(sending.reply.frameDelayMs, gone);
    if (gone.aborted) return;
    response.write(frame);
  }
  if (silentFrom < frames.length) await pause(waitMaxMs, gone);
  response.end();
}

/** The number of frames that are sent before the silence. */
function hangPlace(at: "headers" | "first-token" | "middle" | "end", frames: number): number {
  switch (at) {
    case "headers":
    case "first-token":
      return 0;
    case "middle":
      return Math.floor(frames / 2);
    case "end":
      return frames - 1;
  }
}

async function sendCut(response: ServerResponse, bytes: Buffer, how: "break" | "end"): Promise<void> {
  if (how === "end") {
    response.end(bytes);
    return;
  }
  // The bytes must have left before the socket is destroyed, or the cut would fall somewhere else.
  await new Promise<void>((resolve) => {
    if (bytes.length === 0) resolve();
    else response.write(bytes, () => resolve());
  });
  response.destroy();
}

function framesWithFault({ format, reply, identity, fault }: ReplySending): readonly string[] {
  const frames = format.encodeFrames(reply, identity);
  if (fault?.kind !== "data" && fault?.kind !== "line") return frames;
  const extra = fault.kind === "data" ? format.frame(fault.text) : `${fault.text}\n`;
  return frames.toSpliced(fault.after ?? 1, 0, extra);
}

function statusError(status: number): JsonValue {
  return {
    message: `scripted failure ${status}`,
    type: errorTypes.get(status) ?? "server_error",
    code: null,
  };
}

const errorTypes = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [429, "rate_limit_error"],
  [529, "overloaded_error"],
]);

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The only rejection is the abort, and that is one of the two ways in which a pause ends.
  await sleep(Math.min(ms, waitMaxMs), undefined, { signal }).catch(() => undefined);
}
