/** The scripted model's messages format, read by the official SDK over real sockets. */
import Anthropic from "@anthropic-ai/sdk";
import { startScriptedModel } from "@sand/testkit/model-server";
import { expect, test } from "vitest";

const say = (text: string) => ({
  model: "m",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: text }],
});

function clientOf(server: { readonly port: number }, apiKey = "k"): Anthropic {
  return new Anthropic({ baseURL: `http://127.0.0.1:${server.port}`, apiKey, maxRetries: 0 });
}

const reply = {
  reasoning: "I think about it",
  redactedReasoning: "and hide this",
  text: "Hello there, this is a stream",
  calls: [{ name: "Shell", args: { command: "ls" } }],
  usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 2 },
};

test("the official SDK reads the same message from a stream and from a plain answer", async () => {
  await using server = await startScriptedModel({ script: [reply], apiKey: "k" });
  const client = clientOf(server);
  const streamed = await client.messages.stream(say("hi")).finalMessage();
  expect(streamed).toMatchObject({
    stop_reason: "tool_use",
    content: [
      { type: "thinking", thinking: reply.reasoning, signature: expect.stringMatching(/.+/u) },
      { type: "redacted_thinking", data: expect.stringMatching(/.+/u) },
      { type: "text", text: reply.text },
      { type: "tool_use", name: "Shell", input: { command: "ls" } },
    ],
    usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 },
  });
  const plain = await client.messages.create(say("hi"));
  expect(plain.content.slice(0, 3)).toEqual(streamed.content.slice(0, 3));
  expect(server.violations).toEqual([]);
});

test("what the SDK gives back of an answer is accepted, and a changed block of reasoning is not", async () => {
  await using server = await startScriptedModel({ script: [reply] });
  const client = clientOf(server);
  const first = await client.messages.create(say("hi"));
  const id = first.content.find((block) => block.type === "tool_use")?.id ?? "";
  const history = (content: typeof first.content) => ({
    ...say("hi"),
    messages: [
      ...say("hi").messages,
      { role: "assistant" as const, content },
      { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: id, content: "r" }] },
    ],
  });
  await client.messages.create(history(first.content));
  expect(server.requests.at(-1)).toMatchObject({ lastUserText: "hi", step: 1, toolResultCount: 1 });
  const changed = first.content.map((block) =>
    block.type === "thinking" ? { ...block, thinking: "something else" } : block,
  );
  await expect(client.messages.create(history(changed))).rejects.toMatchObject({ status: 400 });
  expect(server.violations).toEqual(["request 3: message 1: Invalid `signature` in `thinking` block"]);
});

test("faults and keys are answered in the format's own words", async () => {
  await using server = await startScriptedModel({
    script: [{ fault: { kind: "status", status: 529 } }],
    apiKey: "k",
  });
  const overloaded = clientOf(server).messages.create(say("hi"));
  await expect(overloaded).rejects.toMatchObject({
    status: 529,
    error: { type: "error", error: { type: "overloaded_error" } },
  });
  await expect(clientOf(server, "wrong").messages.create(say("hi"))).rejects.toMatchObject({ status: 401 });
  expect(server.requestCount).toBe(1);
});

test("a prompt that joined behind a tool's result is the last user text", async () => {
  await using server = await startScriptedModel({ script: [reply] });
  await clientOf(server).messages.create({
    ...say("first"),
    messages: [
      ...say("first").messages,
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "Shell", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "r" },
          { type: "text", text: "second" },
        ],
      },
    ],
  });
  expect(server.requests.at(-1)).toMatchObject({ lastUserText: "second", step: 0, toolResultCount: 0 });
});
