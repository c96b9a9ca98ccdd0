/**
 * The terminals' port: plain requests with the bearer, and WebSockets that show the bearer, a ticket, or the bearer as
 * their first message. What can be refused is refused before the upgrade, with a status that says why.
 */
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { bearerMatches, type Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { WebSocket, WebSocketServer } from "ws";
import { limits } from "../limits.ts";
import {
  type Admission,
  admitUpgrade,
  parseAddress,
  parseWish,
  refuseSecretInAddress,
} from "./admit-client.ts";
import { type Attachment, type AttachWish, attachClient } from "./attachment.ts";
import { closeCodes, parseFrame } from "./frames.ts";
import { decodeId } from "./parse-spawn.ts";
import { ptyLimits } from "./pty-limits.ts";
import { answerPlain, describeFailure, type PtyRouteDeps, sendFailure } from "./pty-routes.ts";
import type { Terminal } from "./terminal.ts";

export interface PtyServerDeps extends PtyRouteDeps {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly allowedOrigins: readonly string[];
}

export interface PtyServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startPtyServer(deps: PtyServerDeps): Promise<PtyServer> {
  const patience = {
    headersTimeout: limits.headersMaxMs,
    connectionsCheckingInterval: limits.headersLookEveryMs,
  };
  const server = createServer(patience, (request, response) => {
    try {
      const url = parseAddress(request);
      refuseSecretInAddress(url, deps.token);
      if (!bearerMatches(request.headers.authorization, deps.token))
        throw new BoxError("box/unauthorized", "a bearer token is needed");
      void answerPlain(deps, request, response, url);
    } catch (error) {
      sendFailure(deps.log, response, error);
    }
  });
  server.maxConnections = ptyLimits.connectionsMax;
  const sockets = createSocketDoor(deps);
  server.on("upgrade", (request, socket, head) => void sockets.upgrade(request, socket, head));
  await listen(server, deps);
  const address = server.address();
  return {
    port: portOf(address),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      sockets.close();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), ptyLimits.closeMaxMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

interface SocketDoor {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  close(): void;
}

function createSocketDoor(deps: PtyServerDeps): SocketDoor {
  const open = new Map<WebSocket, Attachment | undefined>();
  let unauthenticated = 0;
  let protocol: WebSocketServer | undefined;
  const pings = setInterval(() => {
    const nowMs = Date.now();
    for (const attachment of open.values()) attachment?.checkPeer(nowMs);
  }, ptyLimits.pingEveryMs);
  pings.unref();

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      const asked = admit(deps, request);
      if (asked.admission.kind === "later" && unauthenticated >= ptyLimits.unauthenticatedMax)
        throw new BoxError("exec/too-many", "too many connections without credentials");
      // Loaded with the first terminal that somebody looks at.
      const { WebSocketServer } = await import("ws");
      protocol ??= new WebSocketServer({
        ...{ noServer: true, perMessageDeflate: false, clientTracking: false },
        maxPayload: ptyLimits.messageMaxBytes,
      });
      if (socket.destroyed) return;
      protocol.handleUpgrade(request, socket, head, (client) => {
        open.set(client, undefined);
        client.on("error", () => client.terminate());
        client.once("close", () => open.delete(client));
        if (asked.admission.kind === "later") authenticate(client, asked);
        else attach(client, asked);
      });
    } catch (error) {
      refuseUpgrade(deps.log, socket, error);
    }
  }

  function attach(client: WebSocket, { id, wish }: AskedAttach): void {
    try {
      open.set(client, attachClient(needRoom(deps.table.find(id)), client, wish));
    } catch (error) {
      closeWith(client, error);
    }
  }

  function authenticate(client: WebSocket, asked: AskedAttach): void {
    unauthenticated += 1;
    const timer = setTimeout(
      () => client.close(closeCodes.unauthorized, "no credentials came"),
      ptyLimits.authMaxMs,
    );
    client.once("close", settle);
    client.once("message", (data: Buffer, isBinary: boolean) => {
      client.off("close", settle);
      settle();
      if (showsToken(data, isBinary)) attach(client, asked);
      else client.close(closeCodes.unauthorized, "the first message must be the bearer");
    });
    function settle(): void {
      clearTimeout(timer);
      unauthenticated -= 1;
    }
  }

  function showsToken(data: Buffer, isBinary: boolean): boolean {
    try {
      const message = parseFrame(data, isBinary);
      return message.type === "auth" && bearerMatches(`Bearer ${message.token}`, deps.token);
    } catch {
      // Whatever it is, it is not the bearer.
      return false;
    }
  }

  function closeWith(client: WebSocket, error: unknown): void {
    const { body } = describeFailure(deps.log, error);
    client.send(JSON.stringify({ type: "error", ...body }));
    client.close(body.code === "terminal/unknown" ? closeCodes.notFound : closeCodes.slow, body.code);
  }

  return {
    upgrade,
    close() {
      clearInterval(pings);
      for (const client of open.keys()) client.close(closeCodes.leaving, "the daemon is ending");
      for (const client of open.keys()) setTimeout(() => client.terminate(), 500).unref();
    },
  };
}

interface AskedAttach {
  readonly admission: Admission;
  readonly id: string;
  readonly wish: AttachWish;
}

/** With credentials everything is looked at before the upgrade; without, nothing about terminals is told. */
function admit(
  deps: PtyServerDeps & { readonly tickets: PtyRouteDeps["tickets"] },
  request: IncomingMessage,
): AskedAttach {
  const url = parseAddress(request);
  refuseSecretInAddress(url, deps.token);
  const admission = admitUpgrade(deps, request, url);
  const id = decodePath(/^\/terminals\/([^/]+)\/attach$/u.exec(url.pathname)?.[1]);
  const wish = parseWish(url);
  if (admission.kind === "later") return { admission, id, wish };
  if (admission.kind === "ticket" && admission.grant.terminalId !== id)
    throw new BoxError("box/unauthorized", "the ticket is for another terminal");
  const mode = admission.kind === "ticket" && admission.grant.mode === "view" ? "view" : wish.mode;
  const terminal = needRoom(deps.table.find(id));
  if (mode === "write" && !terminal.isLeaseFree && !wish.takeover)
    throw new BoxError("terminal/lease-held", "another client writes here", {
      hint: "look on with mode=view, or take over with takeover=1",
    });
  return { admission, id, wish: { ...wish, mode } };
}

function decodePath(id: string | undefined): string {
  if (id === undefined)
    throw new BoxError("gateway/not-found", "a terminal is attached at /terminals/<id>/attach");
  return decodeId(id);
}

function needRoom(terminal: Terminal): Terminal {
  if (terminal.listeners < ptyLimits.viewersMax) return terminal;
  throw new BoxError("exec/too-many", `${ptyLimits.viewersMax} clients look at this terminal already`);
}

function refuseUpgrade(log: Logger, socket: Duplex, error: unknown): void {
  const { status, body } = describeFailure(log, error);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...["connection: close", "content-type: application/json", `content-length: ${Buffer.byteLength(text)}`],
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}

function listen(server: Server, { host, port }: PtyServerDeps): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
