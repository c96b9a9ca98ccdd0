/** What of an event stream is on the wire, byte for byte: its frames are put into chunks by us and not by Node. */
import type { CommittedEvent } from "@sand/protocol";
import { expect, test } from "vitest";
import { createGatewayWorld, dial, token } from "./gateway-world.ts";

const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`;
const deadlineMs = 20_000;

function event(seq: number, text = `t${seq}`): CommittedEvent {
  return { seq, channel: "transcript", payload: { text } };
}

const frameOf = (text: string) => `data: {"channel":"transcript","payload":{"text":"${text}"}}\n\n`;

async function openRaw(port: number, request: string) {
  const socket = await dial(port);
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(request);
  return {
    received: () => received,
    until: (text: string) => expect.poll(() => received, { timeout: deadlineMs }).toContain(text),
    closed,
    close: () => socket.destroy(),
  };
}

/** Each chunk's text. A size that doesn't match what follows is refused. */
function chunksOf(answer: string): string[] {
  let rest = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  const chunks: string[] = [];
  while (rest !== "") {
    const size = Number.parseInt(rest, 16);
    const from = rest.indexOf("\r\n") + 2;
    if (rest.slice(from + size, from + size + 2) !== "\r\n") throw new Error(`a broken chunk: ${rest}`);
    chunks.push(rest.slice(from, from + size));
    rest = rest.slice(from + size + 2);
  }
  return chunks;
}

test("each frame is one chunk, alone or published together with others, and the end is said", async () => {
  await using world = await createGatewayWorld();
  const stream = await openRaw(world.gateway.port, `GET /events HTTP/1.1\r\n${head}`);
  await stream.until("retry: ");
  world.publish(event(1));
  world.publish(event(2), event(3), event(4, "x".repeat(70_000)));
  world.publish({ seq: 5, channel: "turn", payload: {} }, event(6));
  await stream.until(frameOf("t6"));
  await world.gateway.close();
  await stream.closed;
  const texts = ["t1", "t2", "t3", "x".repeat(70_000), "t6"];
  const retry = "retry: 1000\n\n";
  expect(chunksOf(stream.received())).toEqual([retry, ...texts.map(frameOf), retry, ""]);
});

test("a client of HTTP/1.0, which knows no chunks, gets the bare frames", async () => {
  await using world = await createGatewayWorld();
  const stream = await openRaw(world.gateway.port, `GET /events HTTP/1.0\r\n${head}`);
  await stream.until("retry: ");
  world.publish(event(1), event(2));
  await stream.until(frameOf("t2"));
  const [, body] = stream.received().split("\r\n\r\n");
  expect(body).toBe(`retry: 1000\n\n${frameOf("t1")}${frameOf("t2")}`);
  stream.close();
});

test("a stream that was asked for behind another one on its connection comes whole when that one has ended", async () => {
  await using world = await createGatewayWorld();
  const one = `GET /events HTTP/1.1\r\n${head}`;
  const both = await openRaw(world.gateway.port, `${one}${one}`);
  const opened = await openRaw(world.gateway.port, one);
  await opened.until("retry: ");
  await both.until("retry: ");
  world.publish(event(1));
  world.publish(event(2), event(3));
  await opened.until(frameOf("t3"));
  await world.gateway.close();
  await Promise.all([both.closed, opened.closed]);
  const retry = "retry: 1000\n\n";
  const whole = [retry, ...["t1", "t2", "t3"].map(frameOf), retry].join("");
  const answers = both.received().split(/(?=HTTP\/1\.1 200)/u);
  expect(answers.map((answer) => chunksOf(answer).join(""))).toEqual([whole, whole]);
});

test("a compressed stream is chunked the same way", async () => {
  await using world = await createGatewayWorld();
  const gzip = `Accept-Encoding: gzip\r\n${head}`;
  const stream = await openRaw(world.gateway.port, `GET /events HTTP/1.1\r\n${gzip}`);
  await stream.until("\r\n\r\n");
  const framesSoFar = () => chunksOf(stream.received()).length;
  const before = framesSoFar();
  world.publish(event(1), event(2));
  await expect.poll(framesSoFar, { timeout: deadlineMs }).toBe(before + 2);
  stream.close();
});
