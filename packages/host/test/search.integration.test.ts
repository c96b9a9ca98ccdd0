/** Search and journals through a running host: its thread, its restarts, its agents that come and go. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldOf, listOf, waitUntil } from "@sand/testkit";
import type { ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const script: ModelScript = [{ text: "The lighthouse keeper answers." }];

async function hits(host: TestHost, query: string): Promise<readonly unknown[]> {
  return listOf(await host.call("searchAgents", { query }));
}

async function whenFound(host: TestHost, query: string, count: number): Promise<readonly unknown[]> {
  let found: readonly unknown[] = [];
  await waitUntil(
    `${count} hits of ${query}`,
    async () => {
      found = await hits(host, query);
      return found.length === count;
    },
    { deadlineMs: 60_000, describe: () => `${JSON.stringify(found)} ${host.logLines.slice(-5).join("")}` },
  );
  return found;
}

/** The journal of an agent whose turn has ended. */
async function whenJournaled(host: TestHost, id: string): Promise<string> {
  await waitUntil(
    "the turn's end in the journal",
    () => existsSync(journalOf(host, id)) && readFileSync(journalOf(host, id), "utf8").includes("turn_ended"),
    { deadlineMs: 60_000 },
  );
  return readFileSync(journalOf(host, id), "utf8");
}

const journalOf = (host: TestHost, id: string): string =>
  join(host.dataRoot, "agent-transcripts", id, `${id}.jsonl`);
const indexOf = (host: TestHost): string => join(host.dataRoot, "search-index.db");

test("what is said is found a moment later, and stands in the journal", async () => {
  await using host = await startTestHost({ script });
  const id = await host.createAgent("keeper");
  await host.ask(id, "Who keeps the lighthouse?");
  const found = await whenFound(host, "lighthouse", 2);
  expect(found).toMatchObject([
    { agentId: id, role: "assistant", snippet: "The lighthouse keeper answers." },
    { agentId: id, role: "user", snippet: "Who keeps the lighthouse?" },
  ]);
  expect(await whenJournaled(host, id)).toContain("The lighthouse keeper answers.");
  await waitUntil(
    "a search that knows all",
    async () => fieldOf(await host.call("getSearchStatus", {}), "state") === "ready",
    { deadlineMs: 60_000 },
  );
  expect(await host.call("getSearchStatus", {})).toEqual({ state: "ready", agentsDone: 1, agentsTotal: 1 });
  expect(await host.call("searchMedia", { query: "lighthouse" })).toEqual([]);
});

test("a limit is taken as far as it goes, and a query without words finds nothing", async () => {
  await using host = await startTestHost({ script });
  const id = await host.createAgent("keeper");
  await host.ask(id, "lighthouse one");
  await host.ask(id, "lighthouse two");
  await whenFound(host, "lighthouse", 4);
  expect(listOf(await host.call("searchAgents", { query: "lighthouse", limit: 1 }))).toHaveLength(1);
  expect(listOf(await host.call("searchAgents", { query: "lighthouse", limit: 9_999 }))).toHaveLength(4);
  expect(listOf(await host.call("searchAgents", { query: "lighthouse", limit: 0 }))).toHaveLength(0);
  expect(await hits(host, "")).toEqual([]);
  expect(await hits(host, '") OR ("')).toEqual([]);
  expect(await host.status("searchAgents", {})).toBe(400);
  expect(await host.status("searchAgents", { query: "x".repeat(5_000) })).toBe(400);
  expect(await host.status("searchAgents", { query: "x", limit: -1 })).toBe(400);
});

test("an agent that is deleted vanishes from the search at once, and its journal with it", async () => {
  await using host = await startTestHost({ script });
  const [id, other] = [await host.createAgent("keeper"), await host.createAgent("other")];
  await host.ask(id, "about the lighthouse");
  await host.ask(other, "about the lighthouse, too");
  await whenFound(host, "lighthouse", 4);
  await host.call("deleteAgent", { id });
  expect((await hits(host, "lighthouse")).map((hit) => fieldOf(hit, "agentId"))).toEqual([other, other]);
  expect(existsSync(join(host.dataRoot, "agent-transcripts", id))).toBe(false);
  expect(readdirSync(join(host.dataRoot, "agent-transcripts"))).toEqual([other]);
});

test("what a host didn't come to is caught up by the next one, also without an index", async () => {
  await using host = await startTestHost({ script });
  const id = await host.createAgent("keeper");
  await host.ask(id, "about the lighthouse");
  await whenFound(host, "lighthouse", 2);
  const journal = await whenJournaled(host, id);
  await host.restart(() => {
    rmSync(indexOf(host));
    rmSync(join(host.dataRoot, "agent-transcripts"), { recursive: true });
  });
  await whenFound(host, "lighthouse", 2);
  expect(await whenJournaled(host, id)).toBe(journal);
});

test("a damaged index decides nothing: agents are there, and the search comes back by itself", async () => {
  await using host = await startTestHost({ script });
  const id = await host.createAgent("keeper");
  await host.ask(id, "about the lighthouse");
  await whenFound(host, "lighthouse", 2);
  await host.restart(() => writeFileSync(indexOf(host), "junk ".repeat(10_000)));
  expect(await host.entries(id)).toHaveLength(2);
  await whenFound(host, "lighthouse", 2);
  expect(host.logLines.some((line) => line.includes("search.damaged"))).toBe(true);
});

test("a rebuild that is asked for ends with the same hits", async () => {
  await using host = await startTestHost({ script });
  const id = await host.createAgent("keeper");
  await host.ask(id, "about the lighthouse");
  const before = await whenFound(host, "lighthouse", 2);
  expect(await host.call("rebuildSearch", {})).toBeNull();
  await waitUntil(
    "the rebuild",
    async () => fieldOf(await host.call("getSearchStatus", {}), "state") === "ready",
    { deadlineMs: 60_000 },
  );
  expect(await hits(host, "lighthouse")).toEqual(before);
});
