/**
 * The RPC port. Nothing behind it is reached without the bearer: the token is compared before a body is read, on every
 * path, also on those that don't exist.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { bearerMatches, type Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { endWhenStalled } from "./end-stalled.ts";
import { limits } from "./limits.ts";
import type { OutputStream } from "./output-stream.ts";
import { createErrorInterceptor } from "./rpc-errors.ts";
import { createRpcHandler } from "./rpc-handler.ts";

export interface RpcServer {
  readonly port: number;
  close(): Promise<void>;
}

/** no message is as large */
const neverCompressed = 0xffff_ffff;

export interface RpcServerDeps {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly routes: (router: ConnectRouter) => void;
  /** answers what its calls are, before Connect */
  readonly stream?: OutputStream;
  readonly log: Logger;
}

export async function startRpcServer(deps: RpcServerDeps): Promise<RpcServer> {
  const ending = new AbortController();
  const handle = createRpcHandler({
    routes: deps.routes,
    log: deps.log,
    options: {
      grpc: false,
      grpcWeb: false,
      readMaxBytes: limits.requestMaxBytes,
      interceptors: [createErrorInterceptor(deps.log)],
      shutdownSignal: ending.signal,
      // What comes compressed is read. Answers are not: loopback is fast, and compressing a flood of output would only
      // take its time from the command.
      acceptCompression: [compressionGzip],
      compressMinBytes: neverCompressed,
    },
  });
  const patience = {
    headersTimeout: limits.headersMaxMs,
    connectionsCheckingInterval: limits.headersLookEveryMs,
  };
  const server = createServer(patience, (request, response) => {
    if (!bearerMatches(request.headers.authorization, deps.token))
      refuse(request, response, refusals.unauthorized);
    else if (!hasUsableAddress(request)) refuse(request, response, refusals.badAddress);
    else {
      endWhenStalled(response, limits.stallMaxMs);
      if (deps.stream?.takes(request) === true) deps.stream.answer(request, response, ending.signal);
      else handle(request, response);
    }
  });
  server.maxConnections = limits.connectionsMax;
  await listen(server, deps);
  return {
    port: portOf(server),
    async close() {
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), limits.shutdownMaxMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

const refusals = {
  unauthorized: {
    status: 401,
    body: { code: "unauthenticated", message: "a bearer token is needed" },
    headers: { "www-authenticate": "Bearer", "x-sand-code": "box/unauthorized" },
  },
  badAddress: {
    status: 400,
    body: { code: "invalid_argument", message: "the request's host and path are no URL" },
    headers: { "x-sand-code": "exec/invalid" },
  },
} as const;

/** The adapter makes a URL of host and path outside of every handler, so one that can't be made would end the process. */
function hasUsableAddress(request: IncomingMessage): boolean {
  return URL.canParse(request.url ?? "", `http://${request.headers.host ?? ""}`);
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: (typeof refusals)[keyof typeof refusals],
): void {
  const body = JSON.stringify(refusal.body);
  response.writeHead(refusal.status, {
    ...refusal.headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    // What else it sends isn't read.
    connection: "close",
  });
  response.end(body);
  request.resume();
}

async function listen(server: Server, deps: RpcServerDeps): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const hint = "another program has the port: end it, or set SAND_BOX_EXEC_DAEMON_PORT";
      reject(new BoxError("config/invalid", `can't listen on ${deps.host}:${deps.port}`, { cause, hint }));
    });
    server.listen(deps.port, deps.host, resolve);
  });
}

function portOf(server: Server): number {
  const address = server.address() as AddressInfo | null;
  return address?.port ?? 0;
}
