/** The adapter's own promises over a real socket: abort, deadlines, reasoning, usage, and what it sends. */
import { createServer } from "node:http";
import type { ModelPort } from "@sand/agent-core";
import { type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Adapter,
  adapters,
  collect,
  endOf,
  modelOf,
  requestOf,
  textOf,
  userRequest,
} from "./collect-parts.ts";

const key = "key-for-tests";

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: [{}], apiKey: key });
});
afterAll(async () => server.close());

describe("what is sent", () => {
  test("the request is one that the official SDK's types and our pairing rules accept", async () => {
    server.setScript([{ text: "ok" }]);
    const request = userRequest("hello", { parameters: { maxOutputTokens: 100, temperature: 0.5 } });
    expect(endOf(await collect(modelOf(server), request))).toBe("finish stop");
    expect(server.violations).toEqual([]);
    expect(server.requests.at(-1)?.body).toMatchObject({
      model: "scripted",
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      temperature: 0.5,
      tools: [{ type: "function", function: { name: "Shell" } }],
    });
  });

  test("arguments in the history go out byte for byte when they are an object, and wrapped when not", async () => {
    server.setScript([{ text: "ok" }]);
    const texts = ['{ "b": 2,"a" :1.0}', "", "[1]", '{"command"', '{"__proto__":1}'];
    const calls = texts.map((argsText, at) => ({ providerCallId: `c${at}`, name: "Shell", argsText }));
    await collect(
      modelOf(server),
      requestOf([
        { role: "user", text: "go" },
        { role: "assistant", text: "", calls, reasoning: [] },
        ...calls.map(
          ({ providerCallId }) =>
            ({ role: "tool", providerCallId, name: "Shell", text: "", isError: true }) as const,
        ),
      ]),
    );
    const sent = server.requests.at(-1)?.body.messages;
    expect(sent).toMatchObject([
      {},
      {
        tool_calls: [
          '{ "b": 2,"a" :1.0}',
          "{}",
          '{"unparsedArguments":"[1]"}',
          '{"unparsedArguments":"{\\"command\\""}',
          '{"unparsedArguments":"{\\"__proto__\\":1}"}',
        ].map((args) => ({ function: { arguments: args } })),
      },
      ...texts.map(() => ({ role: "tool", content: "(no output)" })),
    ]);
    expect(server.violations).toEqual([]);
  });

  test("a wrong key is refused without being repeated", async () => {
    const parts = await collect(modelOf(server, { apiKey: "wrong-key-here" }), userRequest("hello"));
    expect(endOf(parts)).toBe("inference/unauthorized");
    expect(JSON.stringify(parts)).not.toContain("wrong-key-here");
  });

  test("our key inside a provider's message is hidden", async () => {
    server.setScript([{ fault: { kind: "status", status: 400, error: { message: `bad: ${key}` } } }]);
    const parts = await collect(modelOf(server), userRequest("hello"));
    expect(parts).toMatchObject([
      { code: "inference/refused", message: "the model provider answered 400: bad: [key]" },
    ]);
  });
});

describe.each(adapters)("the end of a stream ($name)", ({ modelOf, textFrame }) => {
  const slow = { text: "a text of several deltas, each after a pause", frameDelayMs: 80, deltaChars: 4 };

  test("an abort by the caller closes the request and ends without a further part", async () => {
    const closed = await closedAfter({ modelOf, textFrame }, async (model) => {
      const abort = new AbortController();
      const types: string[] = [];
      for await (const part of model.stream(userRequest("hello"), abort.signal)) {
        types.push(part.type);
        abort.abort();
      }
      expect(types).toEqual(["text-delta"]);
    });
    expect(closed).toBe(true);
  });

  test("a consumer that leaves early closes the request", async () => {
    const closed = await closedAfter({ modelOf, textFrame }, async (model) => {
      for await (const part of model.stream(userRequest("hello"), new AbortController().signal)) {
        expect(part.type).toBe("text-delta");
        break;
      }
    });
    expect(closed).toBe(true);
  });

  test("a stream that keeps talking outlives the idle deadline and ends at the total one", async () => {
    server.setScript([slow]);
    const patient = await collect(modelOf(server, { limits: { idleMs: 500 } }), userRequest("a"));
    expect(textOf(patient)).toBe(slow.text);
    const limited = await collect(modelOf(server, { limits: { totalMs: 60 } }), userRequest("b"));
    expect(endOf(limited)).toBe("inference/timeout retryable");
  });

  test("a consumer that takes longer than the idle deadline doesn't end a healthy stream", async () => {
    server.setScript([{ text: "one two three four five six", frameDelayMs: 150, deltaChars: 4 }]);
    const texts: string[] = [];
    const stream = modelOf(server, { limits: { idleMs: 600 } }).stream(
      userRequest("c"),
      AbortSignal.timeout(20_000),
    );
    for await (const part of stream) {
      texts.push(part.type === "text-delta" ? part.text : part.type);
      // Work that takes longer than the deadline, while the stream goes on; no event can stand for it.
      if (texts.length === 1) await new Promise((resolve) => setTimeout(resolve, 750));
    }
    expect(texts.join("")).toBe("one two three four five sixfinish");
  });

  test("more output than the limit ends the stream for good", async () => {
    server.setScript([{ text: "x".repeat(2_000) }]);
    const parts = await collect(modelOf(server, { limits: { outputMaxChars: 1_000 } }), userRequest("hello"));
    expect(endOf(parts)).toBe("inference/malformed");
  });

  test("more calls than the limit end the stream for good", async () => {
    server.setScript([{ calls: Array.from({ length: 5 }, () => ({ name: "Shell", args: "{}" })) }]);
    const parts = await collect(modelOf(server, { limits: { callsMax: 4 } }), userRequest("hello"));
    expect(endOf(parts)).toBe("inference/malformed");
  });

  test("a server that isn't there is unavailable", async () => {
    const gone = await startScriptedModel({ script: [{}] });
    await gone.close();
    const parts = await collect(modelOf(gone), userRequest("hello"));
    expect(parts).toMatchObject([{ code: "inference/unavailable", retryable: true }]);
    expect(JSON.stringify(parts)).toContain("ECONNREFUSED");
  });
});

describe("retry-after", () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  test.each([
    ["2", 2_000],
    ["0.5", 500],
    ["86400", 300_000],
    [inAnHour, 300_000],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["soon", null],
  ])("%s", async (retryAfter, retryAfterMs) => {
    server.setScript([{ fault: { kind: "status", status: 429, retryAfter } }]);
    expect(await collect(modelOf(server), userRequest("hello"))).toMatchObject([{ retryAfterMs }]);
  });
});

describe("usage and reasoning", () => {
  test("usage is what was reported, and null where nothing was", async () => {
    server.setScript([{ text: "ok", usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 5 } }]);
    expect((await collect(modelOf(server), userRequest("hello"))).at(-1)).toEqual({
      type: "finish",
      finish: "stop",
      usage: {
        inputTokens: 7,
        outputTokens: 3,
        cacheReadTokens: 5,
        cacheWriteTokens: null,
        reasoningTokens: null,
      },
    });
    server.setScript([{ text: "ok", usage: null }]);
    expect((await collect(modelOf(server), userRequest("hello"))).at(-1)).toMatchObject({
      usage: { inputTokens: null, outputTokens: null },
    });
  });

  test("reasoning is kept whole and goes back in its own field to the same provider, address and model only", async () => {
    server.setScript([{ text: "ok", reasoning: "because of this and that" }]);
    const parts = await collect(modelOf(server), userRequest("hello"));
    const raw = parts.find((part) => part.type === "raw");
    const part = raw?.part ?? {};
    expect(part).toMatchObject({
      type: "reasoning",
      text: "because of this and that",
      field: "reasoning_content",
    });
    const mine = { provider: "openai-compatible", model: "scripted", part };
    const cases = [
      [mine, "because of this and that"],
      [{ ...mine, model: "another" }, undefined],
      [{ ...mine, provider: "another" }, undefined],
      [{ ...mine, part: { ...part, origin: "http://127.0.0.1:1/v1" } }, undefined],
    ] as const;
    for (const [reasoning, sent] of cases) {
      await collect(
        modelOf(server),
        requestOf([
          { role: "user", text: "hello" },
          { role: "assistant", text: "ok", calls: [], reasoning: [reasoning] },
          { role: "user", text: "again" },
        ]),
      );
      const messages = server.requests.at(-1)?.body.messages;
      const assistant = Array.isArray(messages) ? messages[1] : undefined;
      expect(assistant).toEqual({
        role: "assistant",
        content: "ok",
        ...(sent === undefined ? {} : { reasoning_content: sent }),
      });
    }
  });
});

test("a refusal of reasoning that was given back is told from others, and reasoning is left out when the loop asks", async () => {
  server.setScript([{ text: "ok", reasoning: "because" }]);
  const raw = (await collect(modelOf(server), userRequest("hello"))).find((part) => part.type === "raw");
  const reasoning = [{ provider: "openai-compatible", model: "scripted", part: raw?.part ?? {} }];
  const request = requestOf([
    { role: "user", text: "hello" },
    { role: "assistant", text: "ok", calls: [], reasoning },
    { role: "user", text: "again" },
  ]);
  const error = { type: "invalid_request_error", message: "reasoning_content can't be taken back" };
  server.setScript([{ fault: { kind: "status", status: 400, error } }]);
  expect(endOf(await collect(modelOf(server), request))).toBe("inference/bad-reasoning retryable");
  const dropping = { ...request, dropReasoning: true };
  expect(endOf(await collect(modelOf(server), dropping))).toBe("inference/refused");
  expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain("because");
});

/** Runs `use` against a server that streams for ever, and tells whether its connection was closed by the client. */
async function closedAfter(
  { modelOf, textFrame }: Pick<Adapter, "modelOf" | "textFrame">,
  use: (model: ModelPort) => Promise<void>,
): Promise<boolean> {
  const frame = `data: ${textFrame("x")}\n\n`;
  const closed = Promise.withResolvers<boolean>();
  const endless = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame);
    response.once("close", () => closed.resolve(true));
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  const address = endless.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const deadline = setTimeout(() => closed.resolve(false), 5_000);
  try {
    await use(modelOf(server, { baseUrl: `http://127.0.0.1:${port}/v1` }));
    return await closed.promise;
  } finally {
    clearTimeout(deadline);
    endless.closeAllConnections();
    endless.close();
  }
}
