/**
 * The smallest client of the gateway: posts a command and tells what came back, without judging it.
 *
 * A host that was killed is an expected outcome here (`unreachable`), because killing it is what the proofs do.
 */
export interface GatewayAccess {
  readonly url: string;
  readonly token: string;
}

export type GatewayReply =
  | { readonly kind: "answered"; readonly status: number; readonly body: unknown }
  | { readonly kind: "unreachable"; readonly reason: string };

/** A host under test answers at once or is dead; a longer silence is a finding. */
const answerDeadlineMs = 20_000;

export async function callGateway(
  access: GatewayAccess,
  command: string,
  body: unknown,
): Promise<GatewayReply> {
  try {
    const response = await fetch(`${access.url}/api/${command}`, {
      method: "POST",
      headers: { authorization: `Bearer ${access.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerDeadlineMs),
    });
    const text = await response.text();
    return { kind: "answered", status: response.status, body: parseBody(text) };
  } catch (error) {
    return { kind: "unreachable", reason: reasonOf(error) };
  }
}

/** Posts and insists on 200. For proofs whose host isn't being killed at that moment. */
export async function callOrFail(access: GatewayAccess, command: string, body: unknown): Promise<unknown> {
  const reply = await callGateway(access, command, body);
  if (reply.kind === "unreachable") throw new Error(`${command}: ${reply.reason}`);
  if (reply.status !== 200)
    throw new Error(`${command} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error.message}${cause}`;
}

/** Reads a field of an answer of unknown shape. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
