/** Attach over the wire, as our own binary answer and as Connect's: the same events, the same errors, the same ends. */
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AttachRequestSchema, Processes } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeEnvelope } from "../src/processes/event-envelope.ts";
import { shell, startTestDaemon, type TestDaemon, token, until } from "./daemon-process.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

function clientOf(useBinaryFormat: boolean, timeoutMs?: number) {
  return createClient(
    Processes,
    createConnectTransport({
      ...{ baseUrl: daemon.baseUrl, httpVersion: "1.1", useBinaryFormat },
      ...(timeoutMs === undefined ? {} : { defaultTimeoutMs: timeoutMs }),
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${token}`);
          return next(request);
        },
      ],
    }),
  );
}

/** Sends a body of the binary streaming format; `text` is all that has come back. */
function sendRaw(body: Uint8Array, isRead = true) {
  const socket = connect(Number(new URL(daemon.baseUrl).port), "127.0.0.1");
  const answer = { socket, text: "", isClosed: false };
  socket.on("error", () => undefined);
  socket.on("close", () => {
    answer.isClosed = true;
  });
  if (isRead) {
    socket.on("data", (piece: Buffer) => {
      answer.text += piece.toString("latin1");
    });
  }
  socket.write(
    `POST /exec.v1.Processes/Attach HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/connect+proto\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  );
  socket.write(body);
  return answer;
}

const attachMessage = (processId: string): Buffer =>
  encodeEnvelope(0, toBinary(AttachRequestSchema, create(AttachRequestSchema, { processId })));

async function eventsOf(client: ReturnType<typeof clientOf>, processId: string): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const { event } of client.attach({ processId })) {
    if (event?.kind.case !== "output") events.push(event?.kind.case);
    else
      events.push([event.seq, event.kind.value.offset, Buffer.from(event.kind.value.data).toString("hex")]);
  }
  return events;
}

test("a reader of our answer, of Connect's and of JSON get the same events", async () => {
  await daemon.processes.start(shell("same", "seq 1 20000; echo wrong >&2; head -c 70000 /dev/zero"));
  const own = await eventsOf(clientOf(true), "same");
  expect(own.slice(-2)).toEqual(["exited", "closed"]);
  expect(await eventsOf(clientOf(true, 60_000), "same")).toEqual(own);
  expect(await eventsOf(clientOf(false), "same")).toEqual(own);
});

test("an execution that nobody knows is told with its code", async () => {
  const codes = await Promise.all(
    [clientOf(true), clientOf(true, 60_000)].map((client) =>
      eventsOf(client, "nobody").catch((error: unknown) => error),
    ),
  );
  const told = codes.map((error) =>
    error instanceof Error && "metadata" in error && error.metadata instanceof Headers
      ? error.metadata.get("x-sand-code")
      : undefined,
  );
  expect(told).toEqual(["exec/unknown-execution", "exec/unknown-execution"]);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["half a message", attachMessage("same").subarray(0, 7)],
  ["two messages", Buffer.concat([attachMessage("same"), attachMessage("same")])],
  ["a message that says it is compressed", encodeEnvelope(1, Buffer.from("x"))],
  ["a message that is none", encodeEnvelope(0, Buffer.from([0xff, 0xff]))],
])("%s is the caller's fault, and the daemon goes on", async (_, body) => {
  const answer = sendRaw(body);
  await until("it is answered", () => (answer.isClosed ? true : undefined));
  expect(answer.text).toContain('"code":"invalid_argument"');
  expect(answer.text).toContain('"x-sand-code":["exec/invalid"]');
  expect((await daemon.control.ping({ nonce: "n" })).nonce).toBe("n");
});

test("callers that read nothing of a flood are cut off", async () => {
  await daemon.processes.start(shell("flood", "exec yes"));
  const openFds = async () => (await daemon.control.ping({ nonce: "n" })).openFds;
  const before = await openFds();
  const deaf = Array.from({ length: 10 }, () => sendRaw(attachMessage("flood"), false));
  await until("they are attached", async () => ((await openFds()) >= before + 10 ? true : undefined));
  await until("they are cut off", async () => ((await openFds()) < before + 5 ? true : undefined), 60_000);
  for (const { socket } of deaf) socket.destroy();
  await daemon.processes.signal({ processId: "flood", name: "SIGKILL", scope: 2 });
}, 90_000);
