/**
 * The surface that E2B's SDKs drive, on a loopback port of its own.
 *
 * Nothing but /health and a browser's preflight is answered without the token; /files takes a signed address in its
 * place, and /init the daemon's own bearer. The token is looked at before a body is read.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ConnectRouter, ConnectRouterOptions, Interceptor } from "@connectrpc/connect";
import { bearerMatches, createScope, type Logger, type Scope } from "@sand/node-kit";
import { BoxError, type Clock } from "@sand/protocol";
import { composeFiles } from "./files/compose-files.ts";
import { createAccountNames } from "./filesystem/account-names.ts";
import { createDescribeFiles } from "./filesystem/describe-files.ts";
import { registerFilesystem } from "./filesystem/filesystem-routes.ts";
import { createPolledWatchers } from "./filesystem/polled-watchers.ts";
import { type WatchRequest, watchEvents } from "./filesystem/watch-events.ts";
import { allowOrigins, answerPreflight } from "./http/allow-origins.ts";
import { sendError, sendJson } from "./http/answer.ts";
import { applyInit } from "./http/apply-init.ts";
import { answerFiles, unauthenticated } from "./http/file-routes.ts";
import { createMetrics } from "./http/metrics.ts";
import { readJsonObject } from "./http/read-json.ts";
import { createTrust } from "./http/trust-certificates.ts";
import { limits } from "./limits.ts";
import { registerProcess } from "./process/process-routes.ts";
import { createProcessTable } from "./process/process-table.ts";
import { httpStatusOf, invalid, notFound, toSurfaceError } from "./surface-error.ts";
import type { DaemonPorts } from "./surface-ports.ts";
import { createSurfaceSettings, type SurfaceSettings } from "./surface-settings.ts";

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

export interface SurfaceDeps {
  readonly host: string;
  readonly port: number;
  /** the daemon's own; what clients show until /init sets another */
  readonly token: string;
  readonly ports: DaemonPorts;
  readonly clock: Clock;
  readonly log: Logger;
  /** the daemon's way to answer RPCs */
  readonly createRpcHandler: (deps: {
    readonly routes: (router: ConnectRouter) => void;
    readonly options: ConnectRouterOptions;
    readonly log: Logger;
  }) => RequestListener;
  readonly endWhenStalled: (response: ServerResponse, stallMaxMs: number) => void;
}

export interface Surface {
  readonly port: number;
  close(): Promise<void>;
}

export async function startSurface(deps: SurfaceDeps): Promise<Surface> {
  const scope = createScope("e2b surface", (error, task) =>
    deps.log.warn(
      { event: "e2b.task-failed", task, err: error },
      "background work of the E2B surface failed",
    ),
  );
  const settings = createSurfaceSettings(deps.token);
  const ending = new AbortController();
  const rpc = deps.createRpcHandler({
    routes: createRoutes(deps, settings, scope),
    log: deps.log,
    options: {
      ...{ grpc: false, grpcWeb: false, readMaxBytes: limits.messageMaxBytes, acceptCompression: [] },
      interceptors: [createErrorInterceptor(deps.log)],
      shutdownSignal: ending.signal,
    },
  });
  const plain = createPlainRoutes(deps, settings);
  const server = createServer(
    { maxHeaderSize: limits.headersMaxBytes, requestTimeout: 0 },
    (request, response) => {
      allowOrigins(response);
      deps.endWhenStalled(response, limits.stallMaxMs);
      void answerSafely({ deps, settings, rpc, plain }, request, response);
    },
  );
  server.maxConnections = limits.connectionsMax;
  await listen(server, deps);
  const address = server.address();
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    async close() {
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), limits.shutdownMaxMs);
      await closed;
      clearTimeout(timer);
      await scope.close();
    },
  };
}

function createRoutes(
  deps: SurfaceDeps,
  settings: SurfaceSettings,
  scope: Scope,
): (router: ConnectRouter) => void {
  const { ports, log } = deps;
  const table = createProcessTable(ports.processes);
  const describe = createDescribeFiles(createAccountNames(), ports.attributes);
  const watch = (request: WatchRequest, signal: AbortSignal) =>
    watchEvents({ files: ports.files, describe }, request, signal);

  /** A timer whose work is watched over; it holds nothing up at the end. */
  function later(ms: number, work: () => Promise<void>): { stop(): void } {
    const timer = setTimeout(() => scope.run("later", work), ms);
    timer.unref();
    return { stop: () => clearTimeout(timer) };
  }

  const watchers = createPolledWatchers({ watch, later });
  scope.defer(() => watchers.close());
  log.debug({ event: "e2b.account", name: ports.account.name, home: ports.account.home }, "the account here");
  return (router) => {
    registerProcess(router, { ports, settings, table, later });
    registerFilesystem(router, { ports, describe, watch, watchers });
  };
}

interface Answering {
  readonly deps: SurfaceDeps;
  readonly settings: SurfaceSettings;
  readonly rpc: RequestListener;
  readonly plain: PlainRoutes;
}

async function answerSafely(
  answering: Answering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { log } = answering.deps;
  try {
    await answer(answering, request, response);
  } catch (error) {
    log.debug({ event: "e2b.refused", err: error }, "a request to the E2B surface was refused");
    if (httpStatusOf(error) === 500)
      log.error({ event: "e2b.failed", err: error }, "a request failed unexpectedly");
    await sendError(request, response, error);
  }
}

async function answer(
  answering: Answering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = parseUrl(request);
  if (request.method === "OPTIONS") {
    answerPreflight(response, request.headers["access-control-request-headers"]);
  } else if (url.pathname === "/health") {
    response.writeHead(204, { "cache-control": "no-store" }).end();
  } else if (url.pathname === "/files" && fileMethods.has(request.method ?? "")) {
    const { deps, settings } = answering;
    const nowMs = (): number => deps.clock.nowMs();
    await answerFiles({ ports: deps.ports, settings, nowMs }, url.searchParams, request, response);
  } else {
    await answerAdmitted(answering, url.pathname, request, response);
  }
}

const fileMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

function parseUrl(request: IncomingMessage): URL {
  const base = `http://${request.headers.host ?? ""}`;
  if (!URL.canParse(request.url ?? "", base)) throw invalid("the request's host and path are no URL");
  return new URL(request.url ?? "", base);
}

/** Everything that the token opens, and nothing else does. */
async function answerAdmitted(
  { deps, settings, rpc, plain }: Answering,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const hasToken = settings.hasToken(request.headersDistinct["x-access-token"]?.[0]);
  const isInit = path === "/init" && bearerMatches(request.headers.authorization, deps.token);
  if (!hasToken && !isInit) throw unauthenticated("the access token is missing or wrong");
  if (path.startsWith("/process.Process/") || path.startsWith("/filesystem.Filesystem/")) {
    rpc(request, response);
    return;
  }
  const route = plain[`${request.method} ${path}`];
  if (route === undefined) throw notFound("there is nothing at this address");
  const body = await route(request);
  if (body === undefined) response.writeHead(204).end();
  else sendJson(response, 200, body);
}

type PlainRoutes = Readonly<Record<string, (request: IncomingMessage) => Promise<object | undefined>>>;

function createPlainRoutes({ ports, clock }: SurfaceDeps, settings: SurfaceSettings): PlainRoutes {
  const metrics = createMetrics(ports.account.home, clock);
  const trust = createTrust(ports);
  return {
    "GET /metrics": () => metrics(),
    "GET /envs": () => Promise.resolve(settings.env),
    "POST /init": async (request) => {
      await applyInit({ account: ports.account, settings, trust }, await readJsonObject(request));
      return undefined;
    },
    "POST /files/compose": async (request) => composeFiles(ports, await readJsonObject(request)),
  };
}

function createErrorInterceptor(log: Logger): Interceptor {
  function translate(error: unknown, method: string): Error {
    const translated = toSurfaceError(error);
    if (translated.rawMessage === "the daemon failed")
      log.error({ event: "e2b.failed", method, err: error }, "a call of the E2B surface failed unexpectedly");
    return translated;
  }

  async function* translateStream<T>(messages: AsyncIterable<T>, method: string): AsyncGenerator<T> {
    try {
      yield* messages;
    } catch (error) {
      throw translate(error, method);
    }
  }

  return (next) => async (request) => {
    const { name } = request.method;
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: translateStream(response.message, name) } : response;
    } catch (error) {
      throw translate(error, name);
    }
  };
}

async function listen(server: Server, deps: SurfaceDeps): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const hint = "another program has the port: end it, or set SAND_E2B_PORT";
      reject(new BoxError("config/invalid", `can't listen on ${deps.host}:${deps.port}`, { cause, hint }));
    });
    server.listen(deps.port, deps.host, resolve);
  });
}
