/**
 * The only way out for commands whose network is listed: an HTTP proxy on a socket that is mounted into their
 * sandbox. It takes CONNECT and plain HTTP, and dials nothing that the rules don't name.
 *
 * It believes nothing of what it is asked: names are resolved here, addresses checked here, and an absolute URL decides
 * over a `Host` header. A refusal says which rule it was, since whoever reads it is the agent that has to go on.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { NetworkRules } from "@sand/sandbox-policy";
import { decideDial, type Resolve } from "./dial.ts";

export interface EgressProxyDeps {
  readonly rules: NetworkRules;
  readonly resolve: Resolve;
  /** hears of every refusal */
  readonly onRefused: (target: {
    readonly host: string;
    readonly port: number;
    readonly rule: string;
  }) => void;
}

const limits = {
  connectionsMax: 256,
  connectMaxMs: 15_000,
  /** nothing in either direction for this long ends a connection */
  idleMaxMs: 10 * 60_000,
  headerMaxBytes: 32 * 1024,
} as const;

/** said between two neighbours only, so not handed on */
const hopHeaders = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
]);

interface Target {
  readonly host: string;
  readonly port: number;
}

export function createEgressProxy(deps: EgressProxyDeps): Server {
  const server = createServer({ maxHeaderSize: limits.headerMaxBytes });
  server.maxConnections = limits.connectionsMax;
  server.on("connect", (message: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on("error", () => client.destroy());
    void tunnel(deps, message, { client, head }).catch(() => client.destroy());
  });
  server.on("request", (message: IncomingMessage, reply: ServerResponse) => {
    void forward(deps, message, reply).catch(() => reply.destroy());
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

async function tunnel(
  deps: EgressProxyDeps,
  message: IncomingMessage,
  { client, head }: { readonly client: Duplex; readonly head: Buffer },
): Promise<void> {
  const target = parseAuthority(message.url ?? "");
  const answer = (status: string, text: string): void => {
    client.end(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${text}\n`);
  };
  if (target === undefined) {
    answer("400 Bad Request", "sand: CONNECT takes host:port");
    return;
  }
  const decision = await decide(deps, target);
  if (decision.kind === "refuse") answer("403 Forbidden", refusalText(target, decision.rule));
  if (decision.kind === "lost") answer("502 Bad Gateway", `sand: ${target.host} leads to no address`);
  if (decision.kind !== "dial") return;
  const remote = dial(decision.address, target.port);
  remote.once("connect", () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) remote.write(head);
    client.pipe(remote);
    remote.pipe(client);
  });
  let isOpen = false;
  remote.once("connect", () => {
    isOpen = true;
  });
  remote.on("error", () => {
    if (isOpen) client.destroy();
    else answer("502 Bad Gateway", `sand: ${target.host}:${target.port} does not answer`);
  });
  client.once("close", () => remote.destroy());
  remote.once("close", () => isOpen && client.end());
}

async function forward(
  deps: EgressProxyDeps,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const answer = (status: number, text: string): void => {
    reply.writeHead(status, { "content-type": "text/plain", connection: "close" });
    reply.end(`${text}\n`);
  };
  const url = parseUrl(message.url ?? "");
  if (url === undefined) {
    answer(400, "sand: this is a proxy: it takes http:// URLs and CONNECT");
    return;
  }
  const target = { host: url.hostname.replace(/^\[|\]$/gu, ""), port: Number(url.port || 80) };
  const decision = await decide(deps, target);
  if (decision.kind === "refuse") answer(403, refusalText(target, decision.rule));
  if (decision.kind === "lost") answer(502, `sand: ${target.host} leads to no address`);
  if (decision.kind !== "dial") return;
  const onward = request({
    ...{ host: decision.address, port: target.port, method: message.method ?? "GET", agent: false },
    path: `${url.pathname}${url.search}`,
    headers: { ...endToEnd(message.headers), host: url.host },
    timeout: limits.idleMaxMs,
    setHost: false,
  });
  onward.once("response", (response) => {
    reply.writeHead(response.statusCode ?? 502, endToEnd(response.headers));
    response.pipe(reply);
    response.on("error", () => reply.destroy());
  });
  onward.once("timeout", () => onward.destroy());
  onward.once("error", () => {
    if (reply.headersSent) reply.destroy();
    else answer(502, `sand: ${target.host}:${target.port} does not answer`);
  });
  reply.once("close", () => onward.destroy());
  message.pipe(onward);
}

async function decide(deps: EgressProxyDeps, target: Target): ReturnType<typeof decideDial> {
  const decision = await decideDial(deps.rules, deps.resolve, target.host, target.port);
  if (decision.kind === "refuse") deps.onRefused({ ...target, rule: decision.rule });
  return decision;
}

function dial(address: string, port: number): Socket {
  const socket = connect({ host: address, port });
  socket.setTimeout(limits.connectMaxMs, () => socket.destroy(new Error("no answer")));
  socket.once("connect", () => socket.setTimeout(limits.idleMaxMs, () => socket.destroy()));
  return socket;
}

const refusalText = ({ host, port }: Target, rule: string): string =>
  `sand: the network policy refuses ${host}:${port} (${rule})`;

function parseAuthority(text: string): Target | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/u.exec(text);
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])];
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

function parseUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.protocol === "http:" && url.username === "" && url.password === "";
  return isPlain ? url : undefined;
}

function endToEnd(headers: IncomingMessage["headers"]): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/\s*,\s*/u));
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopHeaders.has(name) && !named.has(name)) kept[name] = value;
  }
  return kept;
}
