/** Prompts, answers and arguments above the limit of a row, through a whole host and its threads. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { startTestHost } from "./turn-host.ts";

const long = (mark: string, length: number): string => mark.repeat(Math.ceil(length / mark.length));

test("a large prompt is answered, shown whole, and told to the model again after a restart", async () => {
  const answer = long("answer ", 80_000);
  await using host = await startTestHost({
    script: {
      rules: [
        { when: /^big/u, steps: [{ text: answer }] },
        { when: /^next/u, steps: [{ text: "and on" }] },
      ],
      otherwise: { text: "?" },
    },
  });
  const agentId = await host.createAgent("reader");
  const blobs = join(host.dataRoot, "agents", agentId, "conversation-blobs.db");
  await host.ask(agentId, "next small");
  expect(existsSync(blobs)).toBe(false);
  const prompt = `big ${long("words and words ", 100_000)}`;
  await host.ask(agentId, prompt);
  const lines = await host.lines(agentId);
  expect(lines.includes(`user:${prompt}`)).toBe(true);
  expect(lines.includes(`answer:${answer}`)).toBe(true);
  await host.restart();
  // Closing has moved the log into the file.
  expect(statSync(blobs).size).toBeGreaterThan(180_000);
  await host.ask(agentId, "next");
  const sent = JSON.stringify(host.model.requests.at(-1)?.body);
  expect([sent.includes(prompt), sent.includes(answer)]).toEqual([true, true]);
});

test("a tool gets large arguments whole", async () => {
  const content = long("line of the file\n", 400_000);
  await using host = await startTestHost({
    script: {
      rules: [
        {
          when: "write",
          steps: [{ calls: [{ name: "WriteFile", args: { path: "large.txt", content } }] }, { text: "done" }],
        },
      ],
      otherwise: { text: "?" },
    },
  });
  const agentId = await host.createAgent("writer");
  await host.ask(agentId, "write");
  expect(readFileSync(join(host.workspace, "large.txt"), "utf8") === content).toBe(true);
});

test("a lost payload of an earlier turn stops no later one, and the operator is told", async () => {
  await using host = await startTestHost({ script: { rules: [], otherwise: { text: "ok" } } });
  const agentId = await host.createAgent("reader");
  await host.ask(agentId, `lost ${long("words and words ", 100_000)}`);
  await host.ask(agentId, "kept");
  await host.restart(() => {
    const database = new DatabaseSync(join(host.dataRoot, "agents", agentId, "conversation-blobs.db"));
    database.exec("UPDATE blobs SET data = zeroblob(9)");
    database.close();
  });
  await host.ask(agentId, "and now");
  const sent = JSON.stringify(host.model.requests.at(-1)?.body);
  expect([sent.includes("lost words"), sent.includes("kept"), sent.includes("and now")]).toEqual([
    false,
    true,
    true,
  ]);
  expect(host.logLines.some((line) => line.includes("history.unreadable"))).toBe(true);
});
