/**
 * An MCP server over HTTP with an authorization server beside it, in the test's own process, so that a test can look at
 * what was sent and choose what goes wrong.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface HttpServer {
  readonly url: string;
  /** the headers of each MCP request */
  readonly seen: IncomingMessage["headers"][];
  /** the form of each request for a token */
  readonly tokenRequests: URLSearchParams[];
  /** the access token that is taken now; others are refused */
  accessToken: string;
  /** the refresh token that is taken next, once */
  refreshToken: string;
  /** how tokens are given out from now on */
  tokens: "well" | "refused" | "down";
  /** how a call of a tool is answered from now on */
  answers: "well" | "huge" | "cut";
  close(): Promise<void>;
}

export interface HttpServerOptions {
  /** no request is answered without a token */
  readonly login: boolean;
  readonly tokenSeconds?: number;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: HttpServer = {
    url: `${origin}/mcp`,
    seen: [],
    tokenRequests: [],
    accessToken: "",
    refreshToken: "",
    tokens: "well",
    answers: "well",
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { pathname } = new URL(request.url ?? "", origin);
    if (pathname === "/.well-known/oauth-protected-resource/mcp")
      return json(response, { resource: state.url, authorization_servers: [origin] });
    if (pathname.startsWith("/.well-known/oauth-authorization-server"))
      return json(response, metadata(origin));
    if (pathname === "/register")
      return json(response, { ...JSON.parse(body), client_id: "registered-client" }, 201);
    if (pathname === "/token") return giveToken(response, new URLSearchParams(body));
    if (pathname === "/mcp") return speak(request, response, body);
    response.writeHead(404).end();
  }

  function giveToken(response: ServerResponse, form: URLSearchParams): void {
    state.tokenRequests.push(form);
    if (state.tokens === "down") return void response.writeHead(503).end();
    const isRefresh = form.get("grant_type") === "refresh_token";
    const isGood = isRefresh
      ? form.get("refresh_token") === state.refreshToken
      : form.get("code") === "the-code";
    if (state.tokens === "refused" || !isGood) {
      json(response, { error: "invalid_grant" }, 400);
      return;
    }
    state.accessToken = `access-${randomUUID()}`;
    state.refreshToken = `refresh-${randomUUID()}`;
    json(response, {
      access_token: state.accessToken,
      refresh_token: state.refreshToken,
      token_type: "Bearer",
      expires_in: options.tokenSeconds ?? 3600,
    });
  }

  function speak(request: IncomingMessage, response: ServerResponse, body: string): void {
    state.seen.push(request.headers);
    if (options.login && request.headers.authorization !== `Bearer ${state.accessToken}`) {
      const described = `${origin}/.well-known/oauth-protected-resource/mcp`;
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${described}"` }).end();
      return;
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call" && state.answers !== "well") misbehave(response, id);
    else json(response, { jsonrpc: "2.0", id, result: resultOf(method) });
  }

  function misbehave(response: ServerResponse, id: unknown): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (state.answers === "cut") {
      response.write(": here it comes\n\n");
      setTimeout(() => response.destroy(), 50);
      return;
    }
    const text = "x".repeat(9_000_000);
    response.end(
      `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })}\n\n`,
    );
  }

  return state;
}

function resultOf(method: string) {
  if (method === "initialize")
    return {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "over http", version: "1" },
    };
  if (method === "tools/list") return { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
  return { content: [{ type: "text", text: "over http" }] };
}

function metadata(origin: string) {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  return body;
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
