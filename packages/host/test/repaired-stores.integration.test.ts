/** An agent whose store is damaged is repaired beside the others, goes on, and the host tells what was kept and lost. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fieldOf, listOf, textOf, waitUntil } from "@sand/testkit";
import { expect, test } from "vitest";
import { startTestHost, type TestHost } from "./turn-host.ts";

const deadlineMs = 60_000;
const script = { rules: [], otherwise: { text: "ok" } };
const pageBytes = 4_096;

const storeOf = (host: TestHost, agentId: string) => join(host.dataRoot, "agents", agentId, "store.db");

function zero(path: string, firstPage: number, pages: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(pages * pageBytes), 0, pages * pageBytes, (firstPage - 1) * pageBytes);
  closeSync(file);
}

async function repairsOf(host: TestHost): Promise<readonly unknown[]> {
  return listOf(fieldOf(await host.call("getHostStatus", {}), "storeRepairs"));
}

async function whenReadable(host: TestHost, agentId: string): Promise<void> {
  await waitUntil(
    "the store to be repaired",
    async () => (await host.status("getAgentTranscriptTail", { id: agentId })) === 200,
    {
      deadlineMs,
      describe: () => host.logLines.slice(-5).join(""),
    },
  );
}

test("a store whose first page is gone is repaired: the conversation is there, and goes on", async () => {
  await using host = await startTestHost({ script });
  const [ann, bob] = [await host.createAgent("ann"), await host.createAgent("bob")];
  for (const text of ["one", "two", "three"]) await host.ask(ann, text, { clientNonce: `n-${text}` });
  const before = await host.lines(ann);
  await host.restart(() => zero(storeOf(host, ann), 1, 1));
  expect(await host.status("getAgentTranscriptTail", { id: ann })).toBe(503);
  await host.ask(bob, "hi");
  expect(await host.lines(bob)).toEqual(["user:hi", "answer:ok"]);
  await whenReadable(host, ann);
  expect(await host.lines(ann)).toEqual(before);
  // The ledger is kept too: a late repetition isn't a second prompt.
  await host.send(ann, "two", { clientNonce: "n-two" });
  await host.ask(ann, "four");
  expect(await host.lines(ann)).toEqual([...before, "user:four", "answer:ok"]);
  const [repair, ...more] = await repairsOf(host);
  expect(more).toEqual([]);
  expect(repair).toMatchObject({ agentId: ann, outcome: "repaired", lostEntries: 0, settledTurns: 0 });
  const folder = join(host.dataRoot, "agents", ann, textOf(fieldOf(repair, "quarantine")));
  const report: unknown = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  expect(Object.keys(Object(fieldOf(report, "hashes")))).toContain("store.db");
  await host.restart();
  expect(await repairsOf(host)).toHaveLength(1);
});

test("an agent that is deleted while its store is repaired is gone, and the repair doesn't bring it back", async () => {
  await using host = await startTestHost({ script });
  const [ann, bob] = [await host.createAgent("ann"), await host.createAgent("bob")];
  await host.ask(ann, "one");
  await host.restart(() => zero(storeOf(host, ann), 1, 1));
  expect(await host.status("getAgentTranscriptTail", { id: ann })).toBe(503);
  expect(await host.status("deleteAgent", { id: ann })).toBe(200);
  expect(await repairsOf(host)).toMatchObject([{ agentId: ann, outcome: "repaired" }]);
  const left = async () => listOf(await host.call("listAgents", {})).map((agent) => fieldOf(agent, "id"));
  expect([await left(), existsSync(storeOf(host, ann))]).toEqual([[bob], false]);
  await host.restart();
  expect(await left()).toEqual([bob]);
});

test("a store of which nothing can be read stays refused, and says so", async () => {
  await using host = await startTestHost({ script });
  const ann = await host.createAgent("ann");
  await host.ask(ann, "one");
  await host.restart(() => zero(storeOf(host, ann), 1, statSync(storeOf(host, ann)).size / pageBytes));
  await waitUntil(
    "the repair to fail",
    async () => {
      await host.status("getAgentTranscriptTail", { id: ann });
      return (await repairsOf(host)).length === 1;
    },
    { deadlineMs },
  );
  expect((await repairsOf(host))[0]).toMatchObject({ agentId: ann, outcome: "failed" });
  expect(await host.status("getAgentTranscriptTail", { id: ann })).toBe(503);
});

test("two stores that were exchanged are refused, neither shows the other's conversation, and putting them back helps", async () => {
  await using host = await startTestHost({ script });
  const [ann, bob] = [await host.createAgent("ann"), await host.createAgent("bob")];
  await host.ask(ann, "secret of ann");
  await host.ask(bob, "secret of bob");
  const swap = () => {
    renameSync(storeOf(host, ann), `${storeOf(host, ann)}.x`);
    renameSync(storeOf(host, bob), storeOf(host, ann));
    renameSync(`${storeOf(host, ann)}.x`, storeOf(host, bob));
  };
  await host.restart(swap);
  expect(await host.status("getAgentTranscriptTail", { id: ann })).toBe(503);
  expect(await host.status("getAgentTranscriptTail", { id: bob })).toBe(503);
  expect(await repairsOf(host)).toEqual([]);
  await host.restart(swap);
  expect(await host.lines(ann)).toContain("user:secret of ann");
});

test("a store that is older than the roster's row says which changes are missing", async () => {
  await using host = await startTestHost({ script });
  const ann = await host.createAgent("ann");
  await host.ask(ann, "one");
  const old = `${storeOf(host, ann)}.old`;
  await host.restart(() => copyFileSync(storeOf(host, ann), old));
  await host.ask(ann, "two");
  // What a lost log leaves: the state before the changes that lay in it.
  await host.restart(() => renameSync(old, storeOf(host, ann)));
  expect(await host.lines(ann)).toEqual(["user:one", "answer:ok"]);
  expect((await repairsOf(host))[0]).toMatchObject({ agentId: ann, outcome: "behind" });
  await host.ask(ann, "three");
  expect(await host.lines(ann)).toEqual(["user:one", "answer:ok", "user:three", "answer:ok"]);
});
