/** Plain answers: JSON, nothing, or an error as `{code, message}`. Everything is open to pages of other origins. */
import type { IncomingMessage, ServerResponse } from "node:http";
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
export function sendError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = httpStatusOf(error);
  // A body that is only half read can't be followed by another request.
  if (!request.complete) response.setHeader("connection", "close");
  sendJson(response, status, { code: status, message: toSurfaceError(error).rawMessage });
  request.resume();
}
