/** The scripted model over real sockets and as a process. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startScriptedModel } from "@sand/testkit/model-server";
import OpenAI from "openai";
import { expect, test } from "vitest";

const packageRoot = join(import.meta.dirname, "..");

const say = (text: string) => ({ model: "m", messages: [{ role: "user" as const, content: text }] });

test("the official SDK reads its streams, plain answers and model list", async () => {
  await using server = await startScriptedModel({
    script: [{ text: "Hello there, this is a stream", calls: [{ name: "Shell", args: { command: "ls" } }] }],
    apiKey: "k",
    model: "listed",
  });
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "k", maxRetries: 0 });
  let text = "";
  let args = "";
  for await (const chunk of await client.chat.completions.create({ ...say("hi"), stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
    args += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? "";
  }
  expect([text, args]).toEqual(["Hello there, this is a stream", '{"command":"ls"}']);
  const plain = await client.chat.completions.create(say("hi"));
  expect(plain.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: text } });
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["listed"]);
});

test("a wrong key is answered with 401 and not recorded", async () => {
  await using server = await startScriptedModel({ script: [{}], apiKey: "k" });
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "wrong", maxRetries: 0 });
  await expect(client.chat.completions.create(say("hi"))).rejects.toMatchObject({ status: 401 });
  expect(server.requestCount).toBe(0);
});

test("a request that breaks the rules is recorded and answered with 400", async () => {
  await using server = await startScriptedModel({ script: [{ text: "ok" }] });
  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [{ role: "tool", tool_call_id: "x", content: "y" }] }),
  });
  expect(response.status).toBe(400);
  expect(server.violations).toEqual(["request 1: message 0: a result for x without its open call"]);
});

test("recorded requests carry no credential", async () => {
  await using server = await startScriptedModel({ script: [{ text: "ok" }], apiKey: "planted-secret" });
  await new OpenAI({ baseURL: server.baseUrl, apiKey: "planted-secret" }).chat.completions.create(say("hi"));
  expect(JSON.stringify(server.requests)).not.toContain("planted-secret");
});

test("a server with a silent client closes at once", async () => {
  const server = await startScriptedModel({ script: [{ fault: { kind: "hang", at: "headers" } }] });
  const pending = fetch(`${server.baseUrl}/chat/completions`, {
    method: "POST",
    body: JSON.stringify(say("hi")),
  });
  const failed = expect(pending).rejects.toThrow();
  await server.waitForRequests(1, 5_000);
  await server.close();
  await failed;
});

test("as a process it prints its port, follows its file, gives the same answer again and logs each call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "scripted-model-"));
  const scriptPath = join(folder, "script.json");
  const logPath = join(folder, "calls.jsonl");
  const rules = [
    {
      name: "step",
      steps: [{ calls: [{ name: "Shell", args: { command: "{args}" } }] }, { text: "{result}" }],
    },
  ];
  writeFileSync(scriptPath, JSON.stringify({ rules }));
  const main = join(packageRoot, "src/model-server/main.ts");
  const child = spawn(
    process.execPath,
    [main, "--script", scriptPath, "--log", logPath, "--end-with-stdin"],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  try {
    const [line] = await once(child.stdout, "data");
    const { baseUrl } = JSON.parse(String(line));
    const client = new OpenAI({ baseURL: baseUrl, apiKey: "k", maxRetries: 0 });
    const first = await client.chat.completions.create(say("script:step date"));
    const again = await client.chat.completions.create(say("script:step date"));
    expect(again).toEqual(first);
    expect(first.choices[0]?.message.tool_calls).toMatchObject([
      { function: { arguments: '{"command":"date"}' } },
    ]);
    const log = readFileSync(logPath, "utf8")
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(log).toMatchObject([
      { number: 1, attempt: 1, lastUserText: "script:step date", step: 0, violations: [] },
      { number: 2, attempt: 2, lastUserText: "script:step date", step: 0, violations: [] },
    ]);
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the committed schemas are the ones that the SDKs' types give", { timeout: 120_000 }, () => {
  const script = join(packageRoot, "scripts/generate-model-schemas.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
});
