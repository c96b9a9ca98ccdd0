/** One call to the daemon over a real socket: what it sends, and each way in which an answer doesn't come. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Control, PingResponseSchema } from "@sand/protocol/exec";
import { afterEach, expect, test } from "vitest";
import { toBoxError } from "../src/box/box-call.ts";
import { createDirectUnary } from "../src/box/direct-unary.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function clientOf(answer: Answer): Promise<Client<typeof Control>> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => answer(request, response));
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stream } = createConnectTransport({ baseUrl, httpVersion: "1.1" });
  const unary = createDirectUnary({ baseUrl, token: () => "token", answerMaxBytes: 1000 });
  return createClient(Control, { unary, stream });
}

const proto = { "content-type": "application/proto" };
const pong = (nonce: string): Uint8Array =>
  toBinary(PingResponseSchema, create(PingResponseSchema, { nonce }));

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConnectError)) throw new Error(`not a Connect error: ${String(error)}`);
  return error;
}

test("a call is one request with its token, its deadline and its message, on a connection that is kept", async () => {
  const seen: unknown[] = [];
  const ports = new Set<number | undefined>();
  const client = await clientOf(({ url, headers, socket }, response) => {
    ports.add(socket.remotePort);
    seen.push([url, headers.authorization, headers["content-type"], headers["connect-timeout-ms"]]);
    response.writeHead(200, proto).end(pong("n"));
  });
  for (let round = 0; round < 3; round += 1)
    expect(await client.ping({ nonce: "n" }, { timeoutMs: 60_000 })).toMatchObject({ nonce: "n" });
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify(["/exec.v1.Control/Ping", "Bearer token", "application/proto", "60000"])]),
  );
  expect(ports.size).toBe(1);
});

test("a refusal keeps the daemon's code and words", async () => {
  const client = await clientOf((_request, response) => {
    const headers = { "content-type": "application/json", "x-sand-code": "exec/too-many" };
    response.writeHead(429, headers).end('{"code":"resource_exhausted","message":"256 run already"}');
  });
  const failure = await failureOf(client.ping({}));
  expect(failure).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "256 run already" });
  expect(toBoxError(failure)).toMatchObject({ code: "exec/too-many", message: "256 run already" });
});

test("a refusal of the token is told as one", async () => {
  const client = await clientOf((_request, response) => response.writeHead(401).end());
  expect(toBoxError(await failureOf(client.ping({})))).toMatchObject({ code: "box/unauthorized" });
});

test.each<readonly [string, Answer]>([
  [
    "that isn't our daemon's",
    (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(),
  ],
  ["that breaks off", (_, response) => response.writeHead(200, proto).write("x", () => response.destroy())],
  ["that never begins", (request) => request.socket.destroy()],
  ["that is too long", (_, response) => response.writeHead(200, proto).end(Buffer.alloc(2000))],
])("an answer %s leaves the box unavailable", async (_name, answer) => {
  const client = await clientOf(answer);
  expect(toBoxError(await failureOf(client.ping({})))).toMatchObject({ code: "box/unavailable" });
});

test("a deadline that passes is told as one", async () => {
  const client = await clientOf(() => undefined);
  expect(await failureOf(client.ping({}, { timeoutMs: 50 }))).toMatchObject({ code: Code.DeadlineExceeded });
});

test("a call that is given up rejects at once, also with its answer on the way", async () => {
  const silent = await clientOf(() => undefined);
  const half = await clientOf((_request, response) => response.writeHead(200, proto).write("x"));
  for (const client of [silent, half]) {
    const abort = new AbortController();
    const called = client.ping({}, { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(called).rejects.toThrow("enough");
    await expect(client.ping({}, { signal: abort.signal })).rejects.toThrow("enough");
  }
});
