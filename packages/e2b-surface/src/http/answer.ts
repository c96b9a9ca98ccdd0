/** Plain answers: JSON, nothing, or an error as `{code, message}`. Everything is open to pages of other origins. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { limits } from "../limits.ts";
import { httpStatusOf, toSurfaceError } from "../surface-error.ts";

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  response.end(body);
}

/** One whose beginning has left can only be broken off. */
export async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): Promise<void> {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // A client that is still sending would take a closed connection for the answer.
  await readAway(request);
  const status = httpStatusOf(error);
  const { code, rawMessage: message } = toSurfaceError(error);
  // A body that is only half read can't be followed by another request.
  if (!request.complete) response.setHeader("connection", "close");
  sendJson(response, status, { code: isRpc(request) ? nameOf(code) : status, message });
  request.resume();
}

async function readAway(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  let left: number = limits.refusedBodyMaxBytes;
  const count = (piece: Buffer): void => {
    left -= piece.length;
    if (left < 0) resolve();
  };
  const timer = setTimeout(resolve, limits.refusedBodyMaxMs);
  request.on("data", count).once("end", resolve).once("close", resolve).resume();
  await promise;
  clearTimeout(timer);
  request.off("data", count).off("end", resolve).off("close", resolve);
}

/** A client of RPCs reads names of codes where the others read numbers. */
function isRpc({ url = "" }: IncomingMessage): boolean {
  return url.startsWith("/process.Process/") || url.startsWith("/filesystem.Filesystem/");
}

function nameOf(code: Code): string {
  return Code[code].replaceAll(/(?<=[a-z])[A-Z]/gu, (letter) => `_${letter}`).toLowerCase();
}
