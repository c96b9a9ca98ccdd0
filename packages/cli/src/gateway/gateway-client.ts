/**
 * One request to the gateway and one answer. A refusal becomes a `CommandFailure` with the exit status that its HTTP
 * status stands for; the gateway's own words are passed on.
 */
import type { JsonObject } from "@sand/protocol";
import { CommandFailure } from "../command-failure.ts";
import { exitNameOfStatus } from "../exit-codes.ts";
import type { GatewayLocation } from "./find-gateway.ts";
import { readBounded } from "./read-bounded.ts";

const requestTimeoutMs = 30_000;
const healthTimeoutMs = 2_000;
const answerMaxBytes = 64 * 1024 * 1024;

export interface Health {
  readonly pid: number;
  readonly startedAt: number;
  readonly isBusy: boolean;
  readonly activeAgentId: string | null;
}

export interface GatewayClient {
  readonly location: GatewayLocation;
  /** sends a command; `undefined` members of `body` stay away */
  call(command: string, body: JsonObject, signal?: AbortSignal): Promise<unknown>;
  /** `undefined` when nobody answers in time, or somebody else does */
  health(): Promise<Health | undefined>;
}

export function createGatewayClient(location: GatewayLocation): GatewayClient {
  return {
    location,
    call: (command, body, signal) => call({ location, command, body, signal }),
    health: () => askHealth(location),
  };
}

export function authorization(location: GatewayLocation): Record<string, string> {
  return location.token === undefined ? {} : { authorization: `Bearer ${location.token}` };
}

interface Call {
  readonly location: GatewayLocation;
  readonly command: string;
  readonly body: JsonObject;
  readonly signal: AbortSignal | undefined;
}

async function call({ location, command, body, signal }: Call): Promise<unknown> {
  const timeout = AbortSignal.timeout(requestTimeoutMs);
  const response = await send(location, `/api/${encodeURIComponent(command)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization(location) },
    body: JSON.stringify(body),
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const text = await readAnswer(response, location);
  const value = parseJson(text);
  if (!response.ok) throw refusal(response.status, value, text);
  if (value === undefined) {
    throw new CommandFailure("serverError", "the gateway's answer isn't JSON", {
      hint: `is ${location.url} a sand host?`,
    });
  }
  return value;
}

/** `fetch` whose failure to connect says what to do about it. */
export async function send(location: GatewayLocation, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`${location.url}${path}`, { ...init, redirect: "error" });
  } catch (error) {
    throw unreachable(location, error);
  }
}

async function readAnswer(response: Response, location: GatewayLocation): Promise<string> {
  try {
    return await readBounded(response, answerMaxBytes);
  } catch (error) {
    throw unreachable(location, error);
  }
}

function unreachable(location: GatewayLocation, cause: unknown): Error {
  if (cause instanceof CommandFailure) return cause;
  if (cause instanceof Error && cause.name === "AbortError") return cause;
  if (cause instanceof Error && cause.name === "TimeoutError") {
    return new CommandFailure("serverError", `the host at ${location.url} didn't answer in time`, { cause });
  }
  return new CommandFailure("notRunning", `no host answers at ${location.url}`, {
    hint: whereToLook(location),
    cause,
  });
}

/** What to do about a host that doesn't answer. */
export function whereToLook(location: GatewayLocation): string {
  return location.source === "environment"
    ? "check SAND_HOST_GATEWAY_URL, or unset it to use the host of this machine"
    : "start one: sand up";
}

export function refusal(status: number, body: unknown, text: string): CommandFailure {
  const failureCode = member(body, "failureCode");
  const message =
    member(body, "error") ?? member(body, "message") ?? (text.slice(0, 200) || `HTTP ${status}`);
  const hint = hintFor(status);
  return new CommandFailure(exitNameOfStatus(status), message, {
    ...(failureCode === undefined ? {} : { failureCode }),
    ...(hint === undefined ? {} : { hint }),
  });
}

function hintFor(status: number): string | undefined {
  if (status === 401)
    return "the token is wrong: check SAND_HOST_GATEWAY_TOKEN, or unset it to use the local host's";
  if (status === 501) return "this host doesn't have that command yet";
  return undefined;
}

async function askHealth(location: GatewayLocation): Promise<Health | undefined> {
  try {
    const response = await fetch(`${location.url}/health`, {
      signal: AbortSignal.timeout(healthTimeoutMs),
      redirect: "error",
    });
    return response.ok ? parseHealth(parseJson(await readBounded(response, answerMaxBytes))) : undefined;
  } catch {
    // Refused, timed out or cut off: the question was whether somebody answers, and nobody does.
    return undefined;
  }
}

function parseHealth(value: unknown): Health | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { ok, pid, startedAt, isBusy, activeAgentId } = {
    ok: false,
    pid: 0,
    startedAt: 0,
    isBusy: false,
    activeAgentId: null,
    ...value,
  };
  if (ok !== true || typeof pid !== "number" || typeof startedAt !== "number") return undefined;
  return {
    pid,
    startedAt,
    isBusy: isBusy === true,
    activeAgentId: typeof activeAgentId === "string" ? activeAgentId : null,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function member(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const value = Object.entries(body).find(([key]) => key === name)?.[1];
  return typeof value === "string" && value !== "" ? value : undefined;
}
