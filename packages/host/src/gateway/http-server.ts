/** The fastify instance without routes: limits, admission, request ids, errors and the log line of each request. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Logger } from "@sand/node-kit";
import { BoxError, type IdSource, InvariantError } from "@sand/protocol";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { decideAdmission } from "./admit-request.ts";
import { toErrorAnswer } from "./error-answer.ts";
import type { GatewayConfig, GatewayLimits } from "./gateway-config.ts";
import { answerMalformed } from "./malformed-request.ts";
import { isTerminalUpgrade } from "./relay/relay-target.ts";
import { sendJson } from "./send-json.ts";

export interface HttpServerDeps {
  readonly config: GatewayConfig;
  readonly limits: GatewayLimits;
  readonly logger: Logger;
  readonly ids: IdSource;
  /** true once the shutdown has begun */
  isClosing(): boolean;
}

const requestIdPattern = /^[\x21-\x7e]{1,128}$/u;
const keepAliveMs = 72_000;

export function createGatewayServer(deps: HttpServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: deps.limits.bodyMaxBytes,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: deps.limits.headersMaxBytes },
    requestIdHeader: false,
    // Bodies are parsed by the command table. Fastify's own compilers would be loaded at the start even so.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    genReqId: (request) => requestIdOf(request.headers["x-sand-request-id"], deps.ids),
    serverFactory: (listener) => createServer(listener, deps),
    clientErrorHandler: (error, socket) => answerMalformed(error, socket),
    frameworkErrors: (error, request, reply) => {
      // An address that can't be routed passes no hook, and the rules of admission hold for it as well.
      reply.header("x-sand-request-id", request.id);
      void answerError(deps, admitRaw(deps, request.raw) ?? error, request, reply);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  addHooks(app, deps);
  app.setErrorHandler(async (error, request, reply) => answerError(deps, error, request, reply));
  app.setNotFoundHandler(async (request, reply) => {
    return answerError(deps, new BoxError("gateway/not-found", "not found"), request, reply);
  });
  return app;
}

/** With callbacks: a promise for each hook would be a good part of what a small request costs here. */
function addHooks(app: FastifyInstance, deps: HttpServerDeps): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-sand-request-id", request.id);
    // Whatever a client calls its body, it is read as JSON; a malformed name must not matter either.
    request.raw.headers["content-type"] = undefined;
    done(admitRaw(deps, request.raw));
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    // An idle connection is dropped at the shutdown, and a client's next request could be under way on it.
    if (deps.isClosing()) reply.header("connection", "close");
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    logRequest(deps.logger, request, reply);
    done();
  });
}

function refuseSchemas(): never {
  throw new InvariantError("no route of the gateway has a schema of fastify's");
}

function createServer(listener: RequestListener, { config, limits }: HttpServerDeps): Server {
  const options = {
    requestTimeout: limits.requestMaxMs,
    headersTimeout: Math.min(limits.requestMaxMs, 60_000),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: limits.headersMaxBytes,
    // Any other wish for another protocol is answered as if it hadn't been made.
    shouldUpgradeCallback: ({ method, url, headers }: IncomingMessage) =>
      isTerminalUpgrade(method ?? "", url ?? "", headers.upgrade),
  };
  const server =
    config.tls === null
      ? createHttpServer(options, listener)
      : createHttpsServer({ ...options, cert: config.tls.cert, key: config.tls.key }, listener);
  server.maxConnections = limits.connectionsMax;
  // An expectation that we don't know is no reason to refuse a request.
  server.on("checkExpectation", listener);
  return server;
}

function requestIdOf(header: string | string[] | undefined, ids: IdSource): string {
  return typeof header === "string" && requestIdPattern.test(header) ? header : ids.next();
}

/** Why a request is refused, before anything of it is looked at; `undefined` when it isn't. */
export function admitRaw(
  { config, isClosing }: Pick<HttpServerDeps, "config" | "isClosing">,
  { headers, method, url }: IncomingMessage,
): BoxError | undefined {
  const refusal = decideAdmission(
    {
      path: (url ?? "").split("?", 1)[0] ?? "",
      method: method ?? "",
      origin: headers.origin,
      host: headers.host,
      authorization: headers.authorization,
    },
    config.token,
  );
  if (refusal !== undefined) return refusal;
  return isClosing() ? new BoxError("host/shutting-down", "the host is shutting down") : undefined;
}

async function answerError(
  deps: HttpServerDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = toErrorAnswer(error);
  if (
    answer.status >= 500 &&
    answer.code !== "gateway/not-implemented" &&
    answer.code !== "host/shutting-down"
  ) {
    deps.logger.error(
      { event: "gateway.failed", requestId: request.id, code: answer.code, err: error },
      "a request failed",
    );
  }
  return sendJson(request, reply.code(answer.status), answer.body);
}

function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  logger.debug({
    event: "gateway.request",
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url ?? "unknown",
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
  });
}
