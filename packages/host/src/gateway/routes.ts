/**
 * The routes of the contract. Those whose feature isn't built answer as a host on which it is switched off, so that a
 * client shows it as absent.
 */
import { failpoint } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { EventStreams } from "../events/event-streams.ts";
import { parseStreamRequest } from "../events/parse-stream-request.ts";
import { acceptsGzip } from "./accepts-gzip.ts";
import type { CommandHandlers } from "./command-handlers.ts";
import { dispatchCommand, refuseCommand } from "./dispatch-command.ts";
import { readHealth } from "./health.ts";
import type { HostStatus, UpgradeDesk } from "./host-ports.ts";
import { sendJson } from "./send-json.ts";

export interface RouteDeps {
  readonly handlers: CommandHandlers;
  readonly status: HostStatus;
  readonly upgrade: UpgradeDesk;
  readonly streams: EventStreams;
  readonly sseGzip: boolean;
  readonly hasToken: boolean;
}

const echoNoncePattern = /^[A-Za-z0-9-]{1,64}$/u;

export function addRoutes(app: FastifyInstance, deps: RouteDeps): void {
  addCommandRoute(app, deps);
  addEventRoutes(app, deps);
  app.get("/health", async (request, reply) =>
    sendJson(request, reply, readHealth(deps.status, process.pid)),
  );
  app.post("/prepare-upgrade", async (request, reply) => {
    const answer = await deps.upgrade.prepare();
    const { quiescing, runningTurns } = answer;
    // The contract's two members, for clients that look closely; the rest for those that ask.
    const hasWish = new URL(request.url, "http://gateway").searchParams.get("details") === "1";
    return sendJson(request, reply, hasWish ? answer : { quiescing, runningTurns });
  });
  addOffRoutes(app, deps);
}

function addCommandRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post<{ Params: { command: string } }>("/api/:command", {
    onRequest: (request, _reply, done) => done(refuseCommand(request.params.command)),
    handler: async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : undefined;
      const context = { requestId: request.id, slimAvatars: wantsSlimAvatars(request) };
      const value = await dispatchCommand(deps.handlers, request.params.command, body, context);
      reply.header("x-sand-mint-dedupe", "1");
      if (request.params.command === "sendPrompt") markAnswer(reply);
      return sendJson(request, reply, value);
    },
  });
}

/** The prompt is durable; whether its sender learns so must make no difference. */
function markAnswer(reply: FastifyReply): void {
  failpoint("reply.before");
  reply.raw.once("finish", () => failpoint("reply.after"));
}

function addEventRoutes(app: FastifyInstance, deps: RouteDeps): void {
  app.get("/events", (request, reply) => openStream(deps, request, reply));
  app.post("/events/echo", async (request, reply) => {
    const nonce = new URL(request.url, "http://gateway").searchParams.get("nonce") ?? "";
    if (!echoNoncePattern.test(nonce)) {
      throw new BoxError("gateway/bad-request", "nonce must be 1 to 64 letters, digits or hyphens");
    }
    deps.streams.echo(nonce);
    return sendJson(request, reply, { ok: true });
  });
}

function openStream(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply): void {
  const lastEventId = request.headers["last-event-id"];
  const wishes = parseStreamRequest(request.url, Array.isArray(lastEventId) ? lastEventId[0] : lastEventId);
  // Taken over only when nothing can be refused any more: a hijacked reply has no error handler.
  deps.streams.open({
    response: reply.raw,
    requestId: request.id,
    wishes,
    gzip: deps.sseGzip && acceptsGzip(request.headers["accept-encoding"]),
    slim: wantsSlimAvatars(request),
  });
  reply.hijack();
}

function addOffRoutes(app: FastifyInstance, { hasToken }: RouteDeps): void {
  const queues = ["local-exec", "webauthn", "cookie-origin-approval"] as const;
  for (const queue of queues) {
    app.get(`/${queue}/requests`, () => refuseQueue(queue, hasToken));
    app.post(`/${queue}/responses`, () => refuseQueue(queue, hasToken));
  }
  app.get("/avatars/:agentId", async () => {
    throw new BoxError("gateway/not-found", "no avatar is stored");
  });
}

async function refuseQueue(queue: string, hasToken: boolean): Promise<never> {
  if (!hasToken) throw new BoxError("gateway/unauthorized", "unauthorized");
  throw new BoxError("gateway/not-found", `${queue} is not enabled`);
}

function wantsSlimAvatars(request: FastifyRequest): boolean {
  return request.headers["x-sand-slim-avatars"] === "1";
}
