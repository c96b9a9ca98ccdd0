/** One command over HTTP: posts it, and gives its value or a `GatewayError`. */

import { GatewayError } from "./gateway-error.ts";
import type { Commands } from "./gen/api.ts";

export interface Access {
  /** without a slash at its end */
  readonly baseUrl: string;
  readonly token: string | null;
  readonly fetch: typeof fetch;
  /** how long one command may take, in `ms` */
  readonly timeoutMs: number;
}

export interface CallOptions {
  /** ends the wait; the command may have had its effect already */
  readonly signal?: AbortSignal;
  /** instead of the client's own, in `ms` */
  readonly timeoutMs?: number;
}

export async function callCommand<Name extends keyof Commands>(
  access: Access,
  name: Name,
  request: Commands[Name]["request"],
  options: CallOptions = {},
): Promise<Commands[Name]["response"]> {
  const { status, text } = await post(access, name, JSON.stringify(request), options);
  const value = parseJson(text);
  if (status >= 200 && status < 300 && value !== undefined) return value as Commands[Name]["response"];
  throw toGatewayError(status, value ?? text);
}

async function post(
  access: Access,
  name: string,
  body: string,
  { signal, timeoutMs }: CallOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  const limit = AbortSignal.timeout(timeoutMs ?? access.timeoutMs);
  try {
    const response = await access.fetch(`${access.baseUrl}/api/${name}`, {
      method: "POST",
      headers: { ...authorization(access), "content-type": "application/json" },
      body,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    const message = limit.aborted ? `${name} was not answered in time` : `${name} got no answer`;
    throw new GatewayError(message, { status: null, failureCode: null, cause });
  }
}

export function authorization({ token }: Access): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not from our host: a proxy's page, or an answer that was cut.
    return undefined;
  }
}

/** Hosts say `error`, older ones `message`; what is neither is shown as it came. */
export function toGatewayError(status: number, body: unknown): GatewayError {
  const fields =
    typeof body === "object" && body !== null ? new Map<string, unknown>(Object.entries(body)) : null;
  const text = fields?.get("error") ?? fields?.get("message") ?? body;
  const failureCode = fields?.get("failureCode");
  return new GatewayError(typeof text === "string" && text !== "" ? text : `the host answered ${status}`, {
    status,
    failureCode: typeof failureCode === "string" ? failureCode : null,
  });
}
