/** The generated client over the real host: commands, prompts and events as a program would use them. */
import { createClient, type SandEvent } from "@sand/client";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const script = { rules: [], otherwise: { text: "hello there" } } as const;

/** On a busy machine a daemon that starts slowly is told in a notice, which is nothing to these tests. */
const isNotice = (line: string): boolean => line.startsWith("notice");

/** A client of a host that may move to another port when it starts again, as a real one never does. */
function clientOf(host: TestHost, fetchNow: typeof fetch = fetch) {
  const { url, token } = host.access();
  return createClient({
    baseUrl: url,
    token,
    fetch: (input, init) => fetchNow(String(input).replace(url, host.access().url), init),
  });
}

test("a client makes an agent, asks it, and reads what came of it by typed methods", async () => {
  await using host = await startTestHost({ script });
  const client = clientOf(host);
  const { agent } = await client.createAgent({ name: "ann", description: "" });
  await client.sendPromptReliably({ agentId: agent.id, prompt: "hi" });
  await host.whenIdle(agent.id);
  const { entries } = await client.getAgentTranscriptWindow({ id: agent.id });
  const lines = entries.map((entry) => (entry.kind === "send-message" ? entry.message.content : entry.kind));
  expect(lines.filter((line) => !isNotice(line))).toEqual(["message", "hello there"]);
  expect((await client.listAgents()).map((row) => [row.name, row.isRunning])).toEqual([["ann", false]]);
  expect(await client.countAgents()).toBe(1);
  await client.setHostSettings({ userTimeZone: "UTC" });
  expect((await client.getHostSettings()).userTimeZone).toBe("UTC");
  await expect(client.openAgent({ id: "nobody" })).rejects.toMatchObject({
    status: 404,
    failureCode: "gateway/agent-not-found",
    retry: "never",
  });
});

test("a prompt whose answer was lost is accepted once and not sent again", async () => {
  await using host = await startTestHost({ script });
  const agentId = await host.createAgent("ann");
  let sends = 0;
  const client = clientOf(host, async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith("/sendPrompt")) return response;
    sends += 1;
    throw new TypeError("the connection broke behind the request");
  });
  const { clientNonce } = await client.sendPromptReliably({ agentId, prompt: "hi" });
  expect(sends).toBe(1);
  await host.whenIdle(agentId);
  const lines = await host.lines(agentId);
  expect(lines.filter((line) => !isNotice(line))).toEqual(["user:hi", "answer:hello there"]);
  const again = clientOf(host).sendPromptReliably({ agentId, prompt: "something else", clientNonce });
  await expect(again).rejects.toMatchObject({ failureCode: "gateway/nonce-conflict" });
});

test("events go on over a restart of the host, with nothing lost and nothing twice", async () => {
  await using host = await startTestHost({ script });
  const agentId = await host.createAgent("ann");
  const leaving = new AbortController();
  const seen: SandEvent[] = [];
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  async function watch(): Promise<void> {
    const events = clientOf(host).events({ channels: ["transcript"], since: 0, signal: leaving.signal });
    for await (const event of events) {
      seen.push(event);
      if (answersIn(seen) === 2) finish();
    }
  }
  const watching = watch();
  await host.ask(agentId, "one");
  await host.restart();
  await host.ask(agentId, "two");
  await done;
  leaving.abort();
  await watching;
  const facts = seen.flatMap(({ channel, seq }) => (channel === "transcript" ? [seq] : []));
  expect(facts).toEqual([...new Set(facts)].sort((one, other) => Number(one) - Number(other)));
  const lines = seen.map(({ payload }) => ("entry" in payload ? payload.entry.kind : "?"));
  const kinds = ["message", "send-message", "message", "send-message"];
  expect(lines.filter((line) => !isNotice(line))).toEqual(kinds);
});

function answersIn(events: readonly SandEvent[]): number {
  return events.filter(
    ({ channel, payload }) =>
      channel === "transcript" && payload.type === "appended" && payload.entry.kind === "send-message",
  ).length;
}
