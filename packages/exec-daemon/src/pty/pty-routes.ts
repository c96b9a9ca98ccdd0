/**
 * What the terminals' port answers over plain HTTP, all with the bearer:
 *
 *   GET    /terminals              all of them
 *   POST   /terminals              a new one, or the one of the same id
 *   GET    /terminals/<id>
 *   POST   /terminals/<id>/resize
 *   DELETE /terminals/<id>         ends it: HUP, and KILL for what is left
 *   POST   /tickets                {terminalId, mode}: a ticket for one connection
 *
 * `GET /terminals/<id>/attach` is the WebSocket.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "@sand/node-kit";
import { BoxError, errorCodes } from "@sand/protocol";
import { asFields, decodeId, parseId, parseSize, parseSpawn } from "./parse-spawn.ts";
import { ptyLimits } from "./pty-limits.ts";
import type { TerminalTable } from "./terminal-table.ts";
import type { Tickets } from "./tickets.ts";

export interface PtyRouteDeps {
  readonly table: TerminalTable;
  readonly tickets: Tickets;
  readonly log: Logger;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export async function answerPlain(
  deps: PtyRouteDeps,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  try {
    sendAnswer(response, await route(deps, request, url.pathname));
  } catch (error) {
    sendFailure(deps.log, response, error);
  }
}

async function route(deps: PtyRouteDeps, request: IncomingMessage, path: string): Promise<Answer> {
  const { table } = deps;
  const [, first = "", id, verb, ...rest] = path.split("/");
  const method = request.method ?? "";
  const asked = `${method} ${first}${id === undefined ? "" : "/<id>"}${verb === undefined ? "" : `/${verb}`}`;
  const of = () => table.find(decodeId(id ?? ""));
  switch (rest.length > 0 ? "" : asked) {
    case "GET terminals":
      return { status: 200, body: { terminals: table.list().map((terminal) => terminal.describe()) } };
    case "POST terminals": {
      const { existing, terminal } = await table.spawn(parseSpawn(await readJson(request)));
      return { status: existing ? 200 : 201, body: { existing, terminal: terminal.describe() } };
    }
    case "GET terminals/<id>":
      return { status: 200, body: { terminal: of().describe() } };
    case "POST terminals/<id>/resize": {
      const size = parseSize(await readJson(request));
      of().resize(size);
      return { status: 200, body: {} };
    }
    case "DELETE terminals/<id>": {
      const terminal = of();
      if (terminal.exit === undefined) await terminal.end("hup");
      return { status: 200, body: { terminal: terminal.describe() } };
    }
    case "POST tickets":
      return { status: 201, body: mint(deps, asFields(await readJson(request))) };
    case "GET terminals/<id>/attach":
      throw new BoxError("exec/invalid", "a terminal is attached over a WebSocket");
    // A path is any text, so there is no union to be complete about.
    default:
      throw new BoxError("gateway/not-found", "there is nothing at that path");
  }
}

function mint({ table, tickets }: PtyRouteDeps, fields: Readonly<Record<string, unknown>>): unknown {
  const terminalId = parseId(fields.terminalId);
  const mode = fields.mode ?? "write";
  if (terminalId === undefined || (mode !== "write" && mode !== "view"))
    throw new BoxError("exec/invalid", "a ticket is for a terminalId, and its mode is write or view");
  table.find(terminalId);
  return tickets.mint({ terminalId, mode });
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request) {
      bytes += part.length;
      if (bytes > ptyLimits.bodyMaxBytes) throw new BoxError("file/too-large", "the body is too large");
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof BoxError) throw error;
    // Whoever sent it went away: that is nobody's failure here.
    throw new BoxError("exec/invalid", "the body was cut off", { cause: error });
  }
  try {
    return bytes === 0 ? {} : JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch (error) {
    throw new BoxError("exec/invalid", "the body holds JSON", { cause: error });
  }
}

export function sendFailure(log: Logger, response: ServerResponse, error: unknown): void {
  const { status, body } = describeFailure(log, error);
  // What is left of a body that was refused is not read.
  response.setHeader("connection", "close");
  sendAnswer(response, { status, body });
}

/** What a failure looks like outside; a bug of ours says nothing of its text. */
export function describeFailure(
  log: Logger,
  error: unknown,
): Answer & { readonly body: { readonly code: string } } {
  if (!(error instanceof BoxError) || !errorCodes[error.code].public) {
    log.error({ event: "pty.failed", err: error }, "a request for a terminal failed unexpectedly");
    return { status: 500, body: { code: "exec/internal", ...{ message: "the daemon failed" } } };
  }
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  const status = error.code === "box/unauthorized" ? 401 : errorCodes[error.code].http;
  return { status, body: { code: error.code, ...{ message: error.message, ...hint } } };
}

function sendAnswer(response: ServerResponse, { status, body }: Answer): void {
  if (response.headersSent) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...{ "content-type": "application/json", "content-length": Buffer.byteLength(text) },
    ...{ "cache-control": "no-store", ...(status === 401 ? { "www-authenticate": "Bearer" } : {}) },
  });
  response.end(text);
}
