/**
 * A client of the daemon's ports for a time in which daemons die: every call says whether it was answered, and where
 * the daemon is, is looked up anew for each. No call throws for a daemon that has gone.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fieldOf } from "../../gateway-client.ts";

export interface DaemonAccess {
  readonly rpcPort: number;
  readonly ptyPort: number;
  readonly token: string;
}

export type DaemonReply =
  | { readonly kind: "answered"; readonly status: number; readonly body: unknown }
  | { readonly kind: "gone" };

export interface DaemonClient {
  call(procedure: string, body: unknown): Promise<DaemonReply>;
  /** Calls until there is an answer that isn't "no room now"; the request must be one that may be repeated. */
  insist(procedure: string, body: unknown): Promise<Extract<DaemonReply, { kind: "answered" }>>;
  /** Hands on each message of a stream until it ends, breaks off, or the signal says so. */
  follow(
    procedure: string,
    body: unknown,
    signal: AbortSignal,
    onMessage: (message: unknown) => void,
  ): Promise<void>;
  /** a request to the terminals' port */
  plain(method: string, path: string, body?: unknown): Promise<DaemonReply>;
  /** a terminal's WebSocket, by a ticket; undefined where there is none to be had */
  attach(terminalId: string, query: string): Promise<WebSocket | undefined>;
}

const callMaxMs = 90_000;
const insistMaxMs = 180_000;
const againAfterMs = 100;
const frameHeadBytes = 5;

export function createDaemonClient(access: () => DaemonAccess | undefined): DaemonClient {
  async function send(port: "rpcPort" | "ptyPort", path: string, init: RequestInit): Promise<DaemonReply> {
    const at = access();
    if (at === undefined) return { kind: "gone" };
    const headers = { authorization: `Bearer ${at.token}`, "content-type": "application/json" };
    try {
      const signal = AbortSignal.timeout(callMaxMs);
      const response = await fetch(`http://127.0.0.1:${at[port]}${path}`, { headers, signal, ...init });
      return { kind: "answered", status: response.status, body: parse(await response.text()) };
    } catch {
      return { kind: "gone" };
    }
  }

  const client: DaemonClient = {
    call: (procedure, body) =>
      send("rpcPort", `/exec.v1.${procedure}`, { method: "POST", body: JSON.stringify(body) }),
    async insist(procedure, body) {
      const endMs = Date.now() + insistMaxMs;
      for (;;) {
        const reply = await client.call(procedure, body);
        if (reply.kind === "answered" && reply.status !== 429 && reply.status !== 503) return reply;
        if (Date.now() > endMs)
          throw new Error(`${procedure} got through in no way: ${JSON.stringify(reply)}`);
        await delay(againAfterMs);
      }
    },
    async follow(procedure, body, signal, onMessage) {
      const at = access();
      if (at === undefined) return;
      try {
        const response = await fetch(`http://127.0.0.1:${at.rpcPort}/exec.v1.${procedure}`, {
          ...{ method: "POST", signal, body: new Uint8Array(envelope(JSON.stringify(body))) },
          headers: { authorization: `Bearer ${at.token}`, "content-type": "application/connect+json" },
        });
        if (response.status === 200 && response.body !== null) await readFrames(response.body, onMessage);
      } catch {
        // Cut off by us or by the daemon's end: what came until then has been handed on.
      }
    },
    plain: (method, path, body) =>
      send("ptyPort", path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    async attach(terminalId, query) {
      const reply = await client.plain("POST", "/tickets", { terminalId });
      const at = access();
      if (at === undefined || reply.kind === "gone" || reply.status !== 201) return undefined;
      const ticket = encodeURIComponent(String(fieldOf(reply.body, "ticket")));
      return new WebSocket(
        `ws://127.0.0.1:${at.ptyPort}/terminals/${terminalId}/attach?ticket=${ticket}&${query}`,
      );
    },
  };
  return client;
}

function envelope(text: string): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

async function readFrames(
  body: AsyncIterable<Uint8Array>,
  onMessage: (message: unknown) => void,
): Promise<void> {
  let held = Buffer.alloc(0);
  for await (const piece of body) {
    held = Buffer.concat([held, piece]);
    while (held.length >= frameHeadBytes) {
      const end = frameHeadBytes + held.readUInt32BE(1);
      if (held.length < end) break;
      // The flag of the last frame says that it holds how the stream ended, which is no message.
      if ((held[0] ?? 0) === 0) onMessage(parse(held.subarray(frameHeadBytes, end).toString()));
      held = held.subarray(end);
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
