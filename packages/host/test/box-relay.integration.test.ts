/**
 * The relay to the box at a real gateway, with a server in the daemon's place that can be made to refuse, stall and die
 * at will; the real daemon behind it is the business of the command line's own tests.
 */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import type { ReachBox } from "../src/box/box-doors.ts";
import { relayLimits } from "../src/gateway/relay/relay-limits.ts";
import { createGatewayWorld, dial, type GatewayWorld, token } from "./gateway-world.ts";

const innerToken = "the-daemon's-own";
const call = "/box/rpc/exec.v1.Processes/Read";
const attach = "/box/pty/terminals/t1/attach";

interface StandIn extends AsyncDisposable {
  readonly server: Server;
  readonly seen: IncomingMessage[];
  readonly sockets: Duplex[];
  readonly reachBox: ReachBox;
}

/** What stands where the daemon would. Upgrades are agreed to, and what comes is sent back. */
async function startStandIn(answer: Parameters<typeof createServer>[1]): Promise<StandIn> {
  const [seen, sockets]: [IncomingMessage[], Duplex[]] = [[], []];
  const server = createServer((request, response) => {
    seen.push(request);
    answer?.(request, response);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    seen.push(request);
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\nhello ",
    );
    socket.write(head);
    if (request.url?.includes("echo") === true) socket.pipe(socket);
    else socket.resume().once("end", () => socket.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const doors = { host: "127.0.0.1", rpcPort: port, ptyPort: port, token: innerToken };
  return {
    ...{ server, seen, sockets },
    reachBox: async () => ({ state: "ready", doors }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

const post = (world: GatewayWorld, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${world.gateway.url}${path}`, {
    ...{ method: "POST", body: "{}", ...init },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...init.headers },
  });

/** An upgrade as bytes; what comes back is read from the socket. */
async function upgrade(world: GatewayWorld, path: string, headers: readonly string[] = []) {
  const socket = await dial(world.gateway.port);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  const lines = [
    `GET ${path} HTTP/1.1`,
    ...["host: 127.0.0.1", "connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"],
    ...["sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", ...headers],
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return {
    socket,
    text: () => text,
    shows: (part: string) => expect.poll(() => text, { timeout: 20_000 }).toContain(part),
  };
}

const bearer = `authorization: Bearer ${token}`;

test("the gateway's bearer is exchanged for the daemon's, and neither it nor foreign headers go in", async () => {
  await using daemon = await startStandIn((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => response.writeHead(200, { "x-sand-code": "kept" }).end(`got ${body}`));
  });
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const answer = await post(world, `${call}?q=1`, {
    headers: { "x-forwarded-for": "1.2.3.4", cookie: "a=b" },
  });
  expect({
    status: answer.status,
    code: answer.headers.get("x-sand-code"),
    text: await answer.text(),
  }).toEqual({
    ...{ status: 200, code: "kept", text: "got {}" },
  });
  const [request] = daemon.seen;
  expect(request?.url).toBe("/exec.v1.Processes/Read?q=1");
  expect(request?.headers).toMatchObject({
    authorization: `Bearer ${innerToken}`,
    "content-type": "application/json",
  });
  expect(request?.headers).not.toHaveProperty("cookie");
  expect(request?.headers).not.toHaveProperty("x-forwarded-for");
  expect([...answer.headers].flat().join()).not.toContain(innerToken);
});

test("without the bearer, from a page, or without a token of the gateway nothing goes in, by call or by upgrade", async () => {
  await using daemon = await startStandIn((_request, response) => response.end("in"));
  {
    await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
    expect((await post(world, call, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await post(world, call, { headers: { origin: "http://page.example" } })).status).toBe(403);
    const refused = [
      [[], "401"],
      [["authorization: Bearer wrong"], "401"],
      [[bearer, "origin: http://page.example"], "403"],
    ] as const;
    for (const [headers, status] of refused) {
      const tried = await upgrade(world, attach, headers);
      await once(tried.socket, "close");
      expect(tried.text()).toMatch(new RegExp(`^HTTP/1.1 ${status} `, "u"));
    }
  }
  await using open = await createGatewayWorld({ reachBox: daemon.reachBox, token: null });
  const answer = await post(open, call);
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({
    failureCode: "gateway/unauthorized",
    hint: expect.any(String),
  });
  const tried = await upgrade(open, attach, [bearer]);
  await once(tried.socket, "close");
  expect(tried.text()).toMatch(/^HTTP\/1.1 401 /u);
  expect(daemon.seen).toEqual([]);
});

test("what isn't a person's business in the box leads nowhere, and other upgrades are passed over", async () => {
  await using daemon = await startStandIn((_request, response) => response.end("in"));
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  for (const path of [
    "/box/rpc/exec.v1.Control/SyncSecrets",
    "/box/pty/tickets",
    "/box/pty/terminals/..%2ftickets",
  ])
    expect((await post(world, path)).status).toBe(404);
  const plain = await upgrade(world, "/health", [bearer]);
  await plain.shows("HTTP/1.1 200 OK");
  plain.socket.destroy();
  expect(daemon.seen).toEqual([]);
});

test("an absent box and one that goes away are told in both tongues", async () => {
  await using world = await createGatewayWorld({
    reachBox: async () => ({ state: "absent", code: "box/unavailable", reason: "no daemon" }),
  });
  const absent = await post(world, call);
  expect({
    status: absent.status,
    code: absent.headers.get("x-sand-code"),
    body: await absent.json(),
  }).toEqual({
    status: 503,
    code: "box/unavailable",
    body: { error: "no daemon", message: "no daemon", failureCode: "box/unavailable", code: "unavailable" },
  });
  await using daemon = await startStandIn((_request, response) => response.destroy());
  await using other = await createGatewayWorld({ reachBox: daemon.reachBox });
  expect((await post(other, call)).status).toBe(503);
});

test("a daemon that dies in the middle of an answer cuts it off", async () => {
  await using daemon = await startStandIn((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("half", () => response.destroy());
  });
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const answer = await post(world, call);
  await expect(answer.text()).rejects.toThrow();
});

test("a client that goes away ends its call in the daemon, and a place is free again", async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  await using daemon = await startStandIn((_request, response) => {
    response.writeHead(200).write("a stream");
    response.once("close", end);
  });
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const leaving = new AbortController();
  await post(world, call, { signal: leaving.signal });
  leaving.abort();
  await ended;
});

test("a flood to who doesn't read stops at the daemon, and a body of any size is passed on", {
  timeout: 60_000,
}, async () => {
  const pieceBytes = 64 * 1024;
  let sentBytes = 0;
  let gotBytes = 0;
  await using daemon = await startStandIn((request, response) => {
    if (request.url?.includes("flood") !== true) {
      request.on("data", (chunk: Buffer) => (gotBytes += chunk.length));
      request.on("end", () => response.end("took it"));
      return;
    }
    response.writeHead(200);
    const pump = (): void => {
      while (!response.destroyed && sentBytes < 512 * 1024 * 1024) {
        sentBytes += pieceBytes;
        if (!response.write(Buffer.alloc(pieceBytes))) {
          response.once("drain", pump);
          return;
        }
      }
    };
    pump();
  });
  await using world = await createGatewayWorld({
    reachBox: daemon.reachBox,
    limits: { bodyMaxBytes: 1_000 },
  });
  const headers = { authorization: `Bearer ${token}` };
  const deaf = httpRequest(`${world.gateway.url}${call}?flood`, { method: "POST", headers });
  deaf.end("{}");
  const [answer] = (await once(deaf, "response")) as [IncomingMessage];
  answer.pause();
  let [before, calm] = [-1, 0];
  const look = (): number => {
    calm = sentBytes === before ? calm + 1 : 0;
    before = sentBytes;
    return calm;
  };
  // Still for a while: nothing more is taken from it.
  await expect.poll(look, { timeout: 30_000, interval: 100 }).toBeGreaterThan(5);
  expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
  deaf.destroy();
  const large = await post(world, call, { body: Buffer.alloc(3_000_000) });
  expect([await large.text(), gotBytes]).toEqual(["took it", 3_000_000]);
});

test("a terminal's bytes go both ways, and each side's end reaches the other", async () => {
  await using daemon = await startStandIn(undefined);
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const first = await upgrade(world, `${attach}?echo=1`, [bearer]);
  await first.shows("hello ");
  first.socket.write("typed");
  await first.shows("hello typed");
  expect(daemon.seen[0]?.headers.authorization).toBe(`Bearer ${innerToken}`);
  const innerClosed = once(daemon.sockets[0] ?? first.socket, "close");
  first.socket.destroy();
  await innerClosed;
  const second = await upgrade(world, attach, [bearer]);
  await second.shows("hello ");
  const closed = once(second.socket, "close");
  daemon.sockets[1]?.end("last words");
  await closed;
  expect(second.text()).toMatch(/last words$/u);
});

test("what the daemon refuses of a terminal is passed on as it says it", async () => {
  await using daemon = await startStandIn(undefined);
  daemon.server.removeAllListeners("upgrade");
  daemon.server.on("upgrade", (_request, socket: Duplex) =>
    socket.end("HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: 7\r\n\r\nit's me"),
  );
  await using world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const tried = await upgrade(world, attach, [bearer]);
  await once(tried.socket, "close");
  expect(tried.text()).toMatch(/^HTTP\/1.1 409 Conflict[\s\S]*it's me$/u);
});

test("terminals are limited in number, a place that is left is free again, and closing ends them all", async () => {
  await using daemon = await startStandIn(undefined);
  const world = await createGatewayWorld({ reachBox: daemon.reachBox });
  const open = await Promise.all(
    Array.from({ length: relayLimits.terminalsMax }, async () => await upgrade(world, attach, [bearer])),
  );
  for (const one of open) await one.shows("hello ");
  const more = await upgrade(world, attach, [bearer]);
  await once(more.socket, "close");
  expect(more.text()).toMatch(/^HTTP\/1.1 429 [\s\S]*too-many-streams/u);
  open[0]?.socket.destroy();
  await expect.poll(() => daemon.sockets.some((socket) => socket.destroyed), { timeout: 20_000 }).toBe(true);
  const again = await upgrade(world, attach, [bearer]);
  await again.shows("hello ");
  const closed = Promise.all([...open.slice(1), again].map((one) => once(one.socket, "close")));
  await world[Symbol.asyncDispose]();
  await closed;
});

test("a client that leaves while the box is looked for leaves nothing behind", async () => {
  await using daemon = await startStandIn(undefined);
  const { promise: looking, resolve: look } = Promise.withResolvers<void>();
  const { promise: found, resolve: find } = Promise.withResolvers<void>();
  await using world = await createGatewayWorld({
    async reachBox(signal) {
      look();
      await found;
      return await daemon.reachBox(signal);
    },
  });
  const tried = await upgrade(world, attach, [bearer]);
  await looking;
  tried.socket.destroy();
  // The gateway has learnt of it once it answers what came later.
  await world.get("/health");
  find();
  await expect.poll(() => daemon.sockets.every((socket) => socket.destroyed)).toBe(true);
});

test("a bug on the way to the box is answered without its text and written down", async () => {
  await using world = await createGatewayWorld({
    reachBox: async () => {
      throw new Error("planted");
    },
  });
  const answer = await post(world, call);
  expect({ status: answer.status, body: await answer.text() }).toMatchObject({ status: 500 });
  const tried = await upgrade(world, attach, [bearer]);
  await once(tried.socket, "close");
  expect(tried.text()).toMatch(/^HTTP\/1.1 500 /u);
  expect(tried.text()).not.toContain("planted");
  expect(world.logLines.filter((line) => line.includes("planted"))).toHaveLength(2);
});
