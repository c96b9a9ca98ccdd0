import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { BoxError } from "@sand/protocol";
import { expect, test } from "vitest";
import { createLogRing } from "./log-ring.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { createStdioTransport } from "./stdio-transport.ts";

function open() {
  const [stdin, stdout, stderr] = [
    new PassThrough({ highWaterMark: 1024 }),
    new PassThrough(),
    new PassThrough(),
  ];
  const exited = Promise.withResolvers<string>();
  const heard: object[] = [];
  const ends: BoxError[] = [];
  const transport = createStdioTransport({
    server: { pid: 1, sandboxed: false, stdin, stdout, stderr, exited: exited.promise, end: async () => [] },
    logRing: createLogRing(1000),
    // What a message must look like is the SDK's business.
    parseMessage: (value) => value as JSONRPCMessage,
    onEnd: (reason) => ends.push(reason),
  });
  transport.onmessage = (message) => heard.push(message);
  return { transport, stdout, heard, ends, exited };
}

async function settle(): Promise<void> {
  for (let at = 0; at < 50; at += 1) await setImmediate();
}

test("what comes too fast stays where it is until its time has come", async () => {
  const { transport, stdout, heard } = open();
  await transport.start();
  const startMs = performance.now();
  stdout.write(`{"method":"n"}\n`.repeat(mcpLimits.messagesBurst + 5000));
  await settle();
  const mayHave =
    mcpLimits.messagesBurst + ((performance.now() - startMs) / 1000) * mcpLimits.messagesPerSecond;
  expect(heard.length).toBeGreaterThanOrEqual(mcpLimits.messagesBurst);
  expect(heard.length).toBeLessThanOrEqual(mayHave + 2);
  expect(stdout.isPaused()).toBe(true);
  await transport.close();
});

test("a notice is handed on before the answer behind it", async () => {
  const { transport, stdout } = open();
  const order: string[] = [];
  transport.onmessage = (message) => {
    // As the SDK does it: a notice's handler runs a step later, an answer's at once.
    if ("id" in message) order.push("answer");
    else void Promise.resolve().then(() => order.push("notice"));
  };
  await transport.start();
  stdout.write(`{"method":"n"}\n{"id":1,"result":{}}\n`);
  await settle();
  expect(order).toEqual(["notice", "answer"]);
});

test("a server that doesn't read ends the connection before what waits for it grows too large", async () => {
  const { transport, ends } = open();
  await transport.start();
  const send = () =>
    transport.send({
      jsonrpc: "2.0",
      method: "n",
      params: { text: "x".repeat(mcpLimits.argumentsMaxBytes) },
    });
  await send();
  await expect(Promise.all([send(), send(), send(), send()])).rejects.toMatchObject({
    code: "mcp/unavailable",
  });
  expect(ends.map(({ code }) => code)).toEqual(["mcp/unavailable"]);
});
