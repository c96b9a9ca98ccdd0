/** What comes to the port before a verb is reached: a bearer, an address, a message that can be read. */
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { createLogger } from "@sand/node-kit";
import { Control, Files } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../src/limits.ts";
import { type RpcServer, startRpcServer } from "../src/rpc-server.ts";

let server: RpcServer;

beforeAll(async () => {
  server = await startRpcServer({
    host: "127.0.0.1",
    port: 0,
    token: "right",
    routes: (router) => {
      router.service(Control, { ping: (request) => ({ nonce: request.nonce }) });
      router.service(Files, {
        async *watch({ path }) {
          yield { event: { case: "overflow" as const, value: { reason: path } } };
        },
      });
    },
    log: createLogger({ name: "test", level: "silent" }),
  });
});

afterAll(() => server.close());

function answerTo(lines: readonly string[], body = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: server.port });
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
    socket.write([...lines, "connection: close", `content-length: ${body.length}`, "", body].join("\r\n"));
  });
}

const path = "/exec.v1.Control/Ping";
const bearer = "authorization: Bearer right";

test("a request whose host is no host is refused, and the server goes on", async () => {
  const type = "content-type: application/json";
  expect(await answerTo([`POST ${path} HTTP/1.1`, "host: [::1", bearer, type], "{}")).toMatch(
    /^HTTP\/1\.1 400 /u,
  );
  expect(await answerTo([`POST ${path} HTTP/1.1`, "host:", bearer, type], "{}")).toMatch(/^HTTP\/1\.1 400 /u);
  expect(await answerTo([`POST ${path} HTTP/1.1`, "host: a", bearer, type], '{"nonce":"n"}')).toMatch(
    /"nonce":"n"/u,
  );
});

test("a binary message that can't be read is the caller's fault, not ours", async () => {
  const answer = await answerTo(
    [`POST ${path} HTTP/1.1`, "host: a", bearer, "content-type: application/proto"],
    "{}",
  );
  expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
  expect(answer).toContain('"code":"invalid_argument"');
});

test("a connection that says nothing, or half of something, is given up and makes room", async () => {
  const began = ["", `POST ${path} HTTP/1.1\r\nhost: a\r\n`].map(
    (text) =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: "127.0.0.1", port: server.port });
        socket.on("error", reject);
        socket.on("close", resolve);
        socket.resume();
        socket.write(text);
      }),
  );
  await Promise.all(began);
}, 20_000);

test("a path that isn't there tells nothing without a bearer", async () => {
  expect(await answerTo(["POST /nothing HTTP/1.1", "host: a"])).toMatch(/^HTTP\/1\.1 401 /u);
  expect(await answerTo(["POST /nothing HTTP/1.1", "host: a", bearer])).toMatch(/^HTTP\/1\.1 404 /u);
});

async function post(method: string, headers: Record<string, string>, body: Buffer): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/exec.v1.${method}`, {
    ...{ method: "POST", body, headers: { authorization: "Bearer right", ...headers } },
  });
  return `${answer.status} ${answer.headers.get("content-encoding") ?? "plain"} ${await answer.text()}`;
}

/** One message of a stream: a flag, four bytes of length, and the message. */
function frame(isCompressed: boolean, text: string): Buffer {
  const body = isCompressed ? gzipSync(text) : Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

test("a compressed message is read, and the answer is plain", async () => {
  const headers = {
    "content-type": "application/json",
    "content-encoding": "gzip",
    "accept-encoding": "gzip",
  };
  const nonce = "n".repeat(5_000);
  const answer = await post("Control/Ping", headers, gzipSync(JSON.stringify({ nonce })));
  expect(answer).toMatch(/^200 plain /u);
  expect(answer).toContain(nonce);
});

test("a compressed message of a stream is read where a header says how", async () => {
  const headers = { "content-type": "application/connect+json", "connect-content-encoding": "gzip" };
  expect(await post("Files/Watch", headers, frame(true, '{"path":"named"}'))).toContain('"reason":"named"');
});

test("one that no header names is the caller's fault, and says what is missing", async () => {
  const headers = { "content-type": "application/connect+json" };
  const answer = await post("Files/Watch", headers, frame(true, '{"path":"unnamed"}'));
  expect(answer).toContain('"code":"invalid_argument"');
  expect(answer).toContain("connect-content-encoding");
  expect(await post("Files/Watch", headers, frame(false, '{"path":"plain"}'))).toContain('"reason":"plain"');
});

test("another compression is refused by name, and one that holds too much is too large", async () => {
  const json = { "content-type": "application/json" };
  const other = await post("Control/Ping", { ...json, "content-encoding": "br" }, Buffer.from("x"));
  expect(other).toMatch(/unimplemented[\s\S]*gzip/u);
  const bomb = gzipSync(Buffer.alloc(limits.requestMaxBytes + 1, 0x20));
  expect(await post("Control/Ping", { ...json, "content-encoding": "gzip" }, bomb)).toContain(
    "resource_exhausted",
  );
  const torn = await post("Control/Ping", { ...json, "content-encoding": "gzip" }, Buffer.from("no gzip"));
  expect(torn).toMatch(/^400 /u);
});
