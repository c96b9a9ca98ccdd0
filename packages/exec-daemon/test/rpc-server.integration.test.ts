/** What comes to the port before a verb is reached: a bearer, an address, a message that can be read. */
import { connect } from "node:net";
import { createLogger } from "@sand/node-kit";
import { Control } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RpcServer, startRpcServer } from "../src/rpc-server.ts";

let server: RpcServer;

beforeAll(async () => {
  server = await startRpcServer({
    host: "127.0.0.1",
    port: 0,
    token: "right",
    routes: (router) => router.service(Control, { ping: (request) => ({ nonce: request.nonce }) }),
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
