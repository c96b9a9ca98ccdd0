/** What a request to a provider keeps of the web's ways, over real sockets. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { type PostedAnswer, postJson } from "../src/http/post-json.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => answer(request, response));
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
}

const never = new AbortController().signal;
const post = (url: string, signal = never): Promise<PostedAnswer> =>
  postJson({ url, headers: { authorization: "Bearer key" }, body: '{"a":1}' }, signal);

async function textOf({ body }: PostedAnswer): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a connection is used again once its answer was read", async () => {
  const ports = new Set<number | undefined>();
  const url = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end("ok");
  });
  for (let round = 0; round < 5; round += 1) expect(await textOf(await post(url))).toBe("ok");
  expect(ports.size).toBe(1);
});

test("a compressed answer is read, though none is asked for", async () => {
  const asked: unknown[] = [];
  const url = await serve((request, response) => {
    asked.push(request.headers["accept-encoding"]);
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed"));
  });
  expect(await textOf(await post(url))).toBe("packed");
  expect(asked).toEqual(["identity"]);
});

test("a redirect that keeps the method is followed, and the key stays with its own address", async () => {
  const seen: unknown[] = [];
  const other = await serve((request, response) => {
    seen.push([request.method, request.headers.authorization]);
    response.end("there");
  });
  const url = await serve((request, response) => {
    if (request.url === "/here") {
      seen.push([request.method, request.headers.authorization]);
      response.writeHead(308, { location: other }).end();
    } else response.writeHead(307, { location: "/here" }).end();
  });
  expect(await textOf(await post(url))).toBe("there");
  expect(seen).toEqual([
    ["POST", "Bearer key"],
    ["POST", undefined],
  ]);
});

test("redirects without an end, or to what is no web address, are answers", async () => {
  const url = await serve((request, response) => {
    const location = request.url === "/mail" ? "mailto:a@b" : "/again";
    response.writeHead(307, { location }).end();
  });
  expect((await post(url)).status).toBe(307);
  expect((await post(`${url}/mail`)).status).toBe(307);
});

test("a request that is given up while its whole answer lies unread harms nobody", async () => {
  const url = await serve((_request, response) => response.end("x".repeat(1000)));
  for (let round = 0; round < 20; round += 1) {
    const abort = new AbortController();
    const answer = await post(url, abort.signal);
    if (round % 2 === 0) await once(answer.body, "readable");
    abort.abort();
    // An error without a listener would end this process, and the test with it.
    if (!answer.body.closed) await once(answer.body, "close");
    expect(answer.body.readableEnded).toBe(false);
  }
  expect(await textOf(await post(url))).toHaveLength(1000);
});

test("a request that is given up before its answer rejects", async () => {
  const url = await serve(() => undefined);
  const abort = new AbortController();
  const posted = post(url, abort.signal);
  abort.abort();
  await expect(posted).rejects.toThrow("given up");
  await expect(post(url, AbortSignal.abort())).rejects.toThrow("given up");
});
