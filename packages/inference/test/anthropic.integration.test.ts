/** The messages adapter's own promises over a real socket: what it sends, reasoning, usage, pings and ends. */
import { createServer } from "node:http";
import type { ModelMessage, ModelPart, ModelRequest } from "@sand/agent-core";
import type { JsonObject } from "@sand/protocol";
import { type ModelReply, type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listOf, objectOf } from "../src/json-reading.ts";
import { callsOf, collect, endOf, messagesModelOf, requestOf, textOf, userRequest } from "./collect-parts.ts";

const key = "key-for-tests";

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: [{}], apiKey: key });
});
afterAll(async () => server.close());

async function sent(request: ModelRequest, rest: Parameters<typeof messagesModelOf>[1] = {}) {
  server.setScript([{ text: "ok" }]);
  expect(endOf(await collect(messagesModelOf(server, rest), request))).toBe("finish stop");
  return server.requests.at(-1)?.body ?? {};
}

const mark = { cache_control: { type: "ephemeral" } };
const call = (providerCallId: string, argsText = "{}") => ({ providerCallId, name: "Shell", argsText });
const result = (providerCallId: string, text = "r", isError = false): ModelMessage => ({
  role: "tool",
  providerCallId,
  name: "Shell",
  text,
  isError,
});
const user = (text: string): ModelMessage => ({ role: "user", text });
const assistant = (
  text: string,
  calls: readonly ReturnType<typeof call>[] = [],
  reasoning: Extract<ModelMessage, { role: "assistant" }>["reasoning"] = [],
): ModelMessage => ({ role: "assistant", text, calls, reasoning });

describe("what is sent", () => {
  test("a history comes out in the provider's shape, with marks of the cache on its head and its last two prompts", async () => {
    const body = await sent(
      requestOf([
        { role: "system", text: "You are a test." },
        user("one"),
        user(" "),
        assistant("", [call("a"), call("functions.Shell:0", '{"command":')]),
        result("a", ""),
        result("functions.Shell:0", "no", true),
        user("steer"),
        assistant("fine"),
        user("two"),
      ]),
    );
    expect(body).toMatchObject({
      max_tokens: 32_000,
      stream: true,
      system: [{ type: "text", text: "You are a test.", ...mark }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "one" },
            { type: "text", text: "(empty message)" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "a", name: "Shell", input: {} },
            { type: "tool_use", id: "functions_Shell_0", input: { unparsedArguments: '{"command":' } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "(no output)" },
            { type: "tool_result", tool_use_id: "functions_Shell_0", content: "no", is_error: true },
            { type: "text", text: "steer", ...mark },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "fine" }] },
        { role: "user", content: [{ type: "text", text: "two", ...mark }] },
      ],
      tools: [{ name: "Shell", description: "Runs a command.", input_schema: { type: "object" } }],
    });
    expect(server.violations).toEqual([]);
    expect(JSON.stringify(body).match(/cache_control/gu)).toHaveLength(3);
  });

  test("the cache isn't marked where the configuration says so, and the request names its own size of an answer", async () => {
    const body = await sent(userRequest("hi", { parameters: { maxOutputTokens: 77, temperature: 0.5 } }), {
      markCache: false,
    });
    expect(JSON.stringify(body)).not.toContain("cache_control");
    expect(body).toMatchObject({ max_tokens: 77 });
    expect(body).not.toHaveProperty("temperature");
  });

  test("a history that begins with the model's words gets a user's message in front", async () => {
    const body = await sent(requestOf([assistant("I was cut off"), user("go on")]));
    expect(body).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }] });
    expect(server.violations).toEqual([]);
  });

  test("a wrong key is refused without being repeated, and no key at all sends none", async () => {
    const parts = await collect(messagesModelOf(server, { apiKey: "wrong-key-here" }), userRequest("hello"));
    expect(endOf(parts)).toBe("inference/unauthorized");
    expect(JSON.stringify(parts)).not.toContain("wrong-key-here");
    const seen = Promise.withResolvers<unknown>();
    const bare = createServer((request, response) => {
      seen.resolve([request.headers["x-api-key"], request.headers.authorization]);
      response.writeHead(500).end();
    });
    await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
    const address = bare.address();
    const port = typeof address === "object" ? address?.port : 0;
    const open = messagesModelOf(server, { apiKey: null, baseUrl: `http://127.0.0.1:${port}/v1` });
    expect(endOf(await collect(open, userRequest("hi")))).toBe("inference/unavailable retryable");
    expect(await seen.promise).toEqual([undefined, undefined]);
    bare.close();
  });
});

describe("reasoning", () => {
  const thoughtful: ModelReply = {
    reasoning: "because of this and that",
    redactedReasoning: "and more that is hidden",
    text: "Let me look.",
    calls: [{ id: "a", name: "Shell", args: { command: "ls" } }],
  };

  async function think(): Promise<Extract<ModelPart, { type: "raw" }>["part"]> {
    server.setScript([thoughtful]);
    const parts = await collect(messagesModelOf(server), userRequest("hello"));
    expect(parts.map((part) => (part.type === "reasoning-delta" ? part.text : "")).join("")).toBe(
      thoughtful.reasoning,
    );
    return parts.find((part) => part.type === "raw")?.part ?? {};
  }

  function historyWith(reasoning: Extract<ModelMessage, { role: "assistant" }>["reasoning"]) {
    return requestOf([
      user("hello"),
      assistant("Let me look.", [call("a", '{"command":"ls"}')], reasoning),
      result("a"),
    ]);
  }

  function blockTypes(body: JsonObject): readonly unknown[] {
    const [, message] = listOf(body.messages);
    return listOf(objectOf(message).content).map((block) => objectOf(block).type);
  }

  test("goes back unchanged before the calls, to the same provider, address and model only", async () => {
    const mine = { provider: "anthropic", model: "scripted", part: await think() };
    const bare = ["text", "tool_use"];
    const cases = [
      [mine, ["thinking", "redacted_thinking", ...bare]],
      [{ ...mine, model: "another" }, bare],
      [{ ...mine, provider: "openai-compatible" }, bare],
      [{ ...mine, part: { ...mine.part, origin: "http://127.0.0.1:1/v1" } }, bare],
      [{ ...mine, part: { type: "unknown-chunk", text: "x" } }, bare],
    ] as const;
    for (const [reasoning, types] of cases) {
      expect(blockTypes(await sent(historyWith([reasoning])))).toEqual(types);
    }
    expect(server.violations).toEqual([]);
  });

  test("is left out when the loop asks for it", async () => {
    const mine = { provider: "anthropic", model: "scripted", part: await think() };
    const body = await sent({ ...historyWith([mine]), dropReasoning: true });
    expect(blockTypes(body)).toEqual(["text", "tool_use"]);
  });

  test("a refusal of reasoning that was given back is told from every other refusal", async () => {
    const error = {
      type: "invalid_request_error",
      message: "messages.1: Invalid `signature` in `thinking` block",
    };
    const mine = { provider: "anthropic", model: "scripted", part: await think() };
    server.setScript([{ fault: { kind: "status", status: 400, error } }]);
    const model = messagesModelOf(server);
    expect(endOf(await collect(model, historyWith([mine])))).toBe("inference/bad-reasoning retryable");
    expect(endOf(await collect(model, historyWith([])))).toBe("inference/refused");
    server.setScript([{ fault: { kind: "status", status: 400, error: { ...error, message: "too long" } } }]);
    expect(endOf(await collect(model, historyWith([mine])))).toBe("inference/refused");
  });

  test("thinking is asked for with its tokens, and not while calls are under way that came without", async () => {
    const mine = { provider: "anthropic", model: "scripted", part: await think() };
    const thinkingTokens = 2_000;
    const on = { thinking: { type: "enabled", budget_tokens: 2_000 }, max_tokens: 34_000 };
    expect(await sent(userRequest("hi"), { thinkingTokens })).toMatchObject(on);
    expect(await sent(historyWith([mine]), { thinkingTokens })).toMatchObject(on);
    expect(await sent(historyWith([]), { thinkingTokens })).not.toHaveProperty("thinking");
    const dropping = { ...historyWith([mine]), dropReasoning: true };
    expect(await sent(dropping, { thinkingTokens })).not.toHaveProperty("thinking");
    expect(server.violations).toEqual([]);
  });
});

describe("the stream", () => {
  test("usage is what was reported, the cache's part beside it", async () => {
    const usage = {
      inputTokens: 7,
      outputTokens: 3,
      cacheReadTokens: 5,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    };
    server.setScript([{ text: "ok", usage }]);
    const parts = await collect(messagesModelOf(server), userRequest("hello"));
    expect(parts.at(-1)).toEqual({ type: "finish", finish: "stop", usage });
    server.setScript([{ text: "ok", usage: null }]);
    expect((await collect(messagesModelOf(server), userRequest("hello"))).at(-1)).toMatchObject({
      usage: { inputTokens: null, outputTokens: null },
    });
  });

  test("pings don't stand for a first token, and keep a stream alive that has begun", async () => {
    const pings = Array.from({ length: 12 }, () => 'event: ping\ndata: {"type":"ping"}\n\n');
    const start = 'data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}\n\n';
    const end = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n';
    const limits = { firstTokenMs: 500, idleMs: 500 };
    const silent = await fromFrames([...pings, start, end], limits);
    expect(endOf(silent)).toBe("inference/timeout retryable");
    const thinking = await fromFrames([start, ...pings, end], limits);
    expect(endOf(thinking)).toBe("finish stop");
  });

  test("an event larger than the limit ends the stream", async () => {
    const parts = await fromFrames([`data: ${"x".repeat(9 * 1024 * 1024)}`], {}, 0);
    expect(endOf(parts)).toBe("inference/malformed retryable");
  });

  test("an end mark of the other format does no harm", async () => {
    const parts = await fromFrames(
      [
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n',
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        "data: [DONE]\n\n",
      ],
      {},
      0,
    );
    expect([textOf(parts), endOf(parts)]).toEqual(["hi", "finish stop"]);
  });

  test("a limit of output or of calls ends the stream for good", async () => {
    server.setScript([{ text: "x".repeat(2_000) }]);
    const long = await collect(
      messagesModelOf(server, { limits: { outputMaxChars: 1_000 } }),
      userRequest("a"),
    );
    server.setScript([{ calls: Array.from({ length: 5 }, () => ({ name: "Shell", args: "{}" })) }]);
    const many = await collect(messagesModelOf(server, { limits: { callsMax: 4 } }), userRequest("a"));
    expect([endOf(long), endOf(many), callsOf(many)]).toEqual([
      "inference/malformed",
      "inference/malformed",
      [],
    ]);
  });

  test("a provider's wish to wait is passed on", async () => {
    server.setScript([{ fault: { kind: "status", status: 429, retryAfter: "2" } }]);
    expect(await collect(messagesModelOf(server), userRequest("hello"))).toMatchObject([
      { code: "inference/rate-limited", retryAfterMs: 2_000 },
    ]);
  });
});

/** What the model makes of frames that a server sends with a pause between them, and then closes. */
async function fromFrames(
  frames: readonly string[],
  limits: { readonly firstTokenMs?: number; readonly idleMs?: number },
  pauseMs = 100,
): Promise<readonly ModelPart[]> {
  const talking = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const rest = [...frames];
    const next = (): void => {
      const frame = rest.shift();
      if (frame === undefined) response.end();
      else response.write(frame, () => setTimeout(next, pauseMs));
    };
    next();
  });
  await new Promise<void>((resolve) => talking.listen(0, "127.0.0.1", resolve));
  const address = talking.address();
  const port = typeof address === "object" ? address?.port : 0;
  try {
    const model = messagesModelOf(server, { baseUrl: `http://127.0.0.1:${port}/v1`, limits });
    return await collect(model, userRequest("hello"));
  } finally {
    talking.closeAllConnections();
    talking.close();
  }
}
