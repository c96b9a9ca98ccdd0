/**
 * Starts the gateway and tells clients where it is; `close` takes both back in an order that loses no answer.
 *
 * Shutting down: event streams end with a `retry:`; for a short grace open connections are answered with
 * `Connection: close`; then nothing is accepted any more, running commands finish, and what is still open at the
 * deadline is ended by force.
 */
import type { IncomingMessage } from "node:http";
import type { Logger } from "@sand/node-kit";
import { BoxError, type Clock, type IdSource, invariant } from "@sand/protocol";
import type { FastifyInstance } from "fastify";
import type { ReachBox } from "../box/box-doors.ts";
import type { EventHub } from "../events/event-hub.ts";
import { createEventStreams } from "../events/event-streams.ts";
import type { ReplaySource } from "../events/replay-source.ts";
import type { CommandHandlers } from "./command-handlers.ts";
import { type Discovery, dialHost, removeDiscovery, writeDiscovery } from "./discovery-file.ts";
import { type GatewayConfig, gatewayLimits } from "./gateway-config.ts";
import type { HostStatus, UpgradeDesk } from "./host-ports.ts";
import { admitRaw, createGatewayServer } from "./http-server.ts";
import { createBoxRelay } from "./relay/box-relay.ts";
import { addRelayRoutes } from "./relay/relay-routes.ts";
import { countRequests } from "./requests-in-flight.ts";
import { addRoutes } from "./routes.ts";

export interface GatewayDeps {
  readonly config: GatewayConfig;
  readonly handlers: CommandHandlers;
  readonly hub: EventHub;
  readonly replay: ReplaySource;
  readonly status: HostStatus;
  readonly upgrade: UpgradeDesk;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** the way to the box's daemon, which is relayed to; absent: there is none */
  readonly reachBox?: ReachBox;
}

export interface Gateway extends AsyncDisposable {
  /** what clients dial */
  readonly url: string;
  readonly port: number;
  /** the same promise for each call */
  close(): Promise<void>;
}

export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { config, clock } = deps;
  const limits = { ...gatewayLimits, ...config.limits };
  const logger = deps.logger.child({ component: "gateway" });
  let closing: Promise<void> | undefined;

  const streams = createEventStreams({ hub: deps.hub, replay: deps.replay, clock, logger, limits });
  const isClosing = (): boolean => closing !== undefined;
  const app = createGatewayServer({ config, limits, logger, ids: deps.ids, isClosing });
  const hasToken = config.token !== null && config.token !== "";
  const admit = (request: IncomingMessage) => admitRaw({ config, isClosing }, request);
  const relay = createBoxRelay({ reachBox: deps.reachBox, hasToken, logger, admit });
  const requests = countRequests(app.server);
  addRoutes(app, {
    handlers: deps.handlers,
    status: deps.status,
    upgrade: deps.upgrade,
    streams,
    sseGzip: config.sseGzip,
    hasToken,
  });
  addRelayRoutes(app, relay);
  app.server.on("upgrade", (request, socket, head) => void relay.upgrade(request, socket, head));
  const discovery = await listen(app, deps).catch(async (error: unknown) => {
    await streams.close();
    throw error;
  });

  async function shutDown(): Promise<void> {
    relay.close();
    await streams.close();
    await removeDiscovery(config.dataRoot, discovery);
    if (await hasConnections(app)) await clock.sleep(limits.closeGraceMs);
    const deadline = new AbortController();
    const forced = clock
      .sleep(limits.closeMaxMs, deadline.signal)
      .then(() => app.server.closeAllConnections());
    const quiet = requests.whenNone().then(() => {
      app.server.on("connection", (socket) => socket.destroy());
      app.server.closeAllConnections();
    });
    await app.close();
    await quiet;
    deadline.abort();
    await forced;
  }

  function close(): Promise<void> {
    closing ??= shutDown();
    return closing;
  }

  const url = `${discovery.scheme}://${bracketed(discovery.host)}:${discovery.port}`;
  logger.info({ event: "gateway.started", url }, "the gateway listens");
  return { url, port: discovery.port, close, [Symbol.asyncDispose]: close };
}

async function listen(app: FastifyInstance, { config, status }: GatewayDeps): Promise<Discovery> {
  try {
    await app.listen({ host: config.bindHost, port: config.port });
  } catch (error) {
    await app.close();
    const where = `${config.bindHost}:${config.port}`;
    const hint = "Another program may hold the port; choose another one with SAND_HOST_PORT, or 0 for any.";
    throw new BoxError("config/invalid", `the gateway can't listen on ${where}`, { cause: error, hint });
  }
  const address = app.server.address();
  invariant(typeof address === "object" && address !== null, "a listening server has an address");
  const discovery: Discovery = {
    scheme: config.tls === null ? "http" : "https",
    host: dialHost(config.bindHost),
    port: address.port,
    token: config.token ?? "",
    pid: process.pid,
    startedAt: status.startedAt,
  };
  await writeDiscovery(config.dataRoot, discovery);
  return discovery;
}

function hasConnections(app: FastifyInstance): Promise<boolean> {
  return new Promise((resolve) => {
    app.server.getConnections((error, count) => resolve(error !== null || count > 0));
  });
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
