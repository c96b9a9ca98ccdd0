/** The daemon's port of terminals as `sand` sees it: where it is, and its plain requests. */
import { join } from "node:path";
import { fieldsOf } from "../chat/feed-event.ts";
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { exitNameOfStatus } from "../exit-codes.ts";
import { readJson } from "../gateway/find-gateway.ts";
import { readBounded } from "../gateway/read-bounded.ts";
import { daemonFileName } from "../local-host/exec-daemon.ts";
import { daemonToken, findDaemonHere, throughGateway } from "../local-host/locate-daemon.ts";

export interface PtyServer {
  /** what `/terminals` follows: the daemon's own port, or the gateway that relays to it */
  readonly base: string;
  readonly token: string;
}

export interface TerminalRow {
  readonly id: string;
  readonly command: string;
  readonly state: string;
  readonly size: string;
  readonly viewers: number;
  readonly written: boolean;
}

/** a daemon that isn't there yet is started for it */
const askMaxMs = 45_000;
const answerMaxBytes = 4 * 1024 * 1024;

/** Undefined where there is neither a daemon nor a gateway that could lead to one. */
export function findPtyServer(context: CommandContext): PtyServer | undefined {
  return findDaemonHere(context) === undefined ? throughGateway(context, "pty") : ptyServerHere(context);
}

/** That of the daemon that runs here. */
export function ptyServerHere(context: CommandContext): PtyServer {
  const port = readJson(join(context.dataRoot, daemonFileName))?.ptyPort;
  if (typeof port !== "number") {
    throw new CommandFailure("notRunning", "the running execution daemon is of before terminals were built", {
      hint: "sand down, then sand up",
    });
  }
  return { base: `http://127.0.0.1:${port}`, token: daemonToken(context) };
}

export async function listTerminals(server: PtyServer): Promise<readonly TerminalRow[]> {
  const { terminals } = await ask(server, "GET", "/terminals");
  return Array.isArray(terminals) ? terminals.map(toRow) : [];
}

/** The new terminal's id. */
export async function spawnTerminal(
  server: PtyServer,
  request: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { terminal } = await ask(server, "POST", "/terminals", request);
  return toRow(terminal).id;
}

function toRow(value: unknown): TerminalRow {
  const { id, command, state, cols, rows, viewers, written } = fieldsOf(value);
  return {
    id: String(id),
    command: Array.isArray(command) ? command.map(String).join(" ") : "",
    ...{ state: String(state), size: `${Number(cols)}x${Number(rows)}` },
    ...{ viewers: Number(viewers), written: written === true },
  };
}

async function ask(
  { base, token }: PtyServer,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await send(`${base}${path}`, {
    ...{ method, redirect: "error", signal: AbortSignal.timeout(askMaxMs) },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const fields = parseFields(await readBounded(response, answerMaxBytes));
  if (response.ok) return fields;
  const { message, hint, code } = fields;
  throw new CommandFailure(
    exitNameOfStatus(response.status),
    typeof message === "string" ? message : `the execution daemon answers HTTP ${response.status}`,
    {
      ...(typeof hint === "string" ? { hint } : {}),
      ...(typeof code === "string" ? { failureCode: code } : {}),
    },
  );
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw new CommandFailure("notRunning", "the execution daemon doesn't answer", { cause: error });
  }
}

function parseFields(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return {};
  }
}
