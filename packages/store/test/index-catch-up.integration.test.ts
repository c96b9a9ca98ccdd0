/** What an opened index does after its opening: the walk over the agents' folders, in steps or at once. */
import { cpSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type AgentId, brandId, type ClientNonce } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { OpenedHostIndex } from "../src/index.ts";
import { createStoreRig, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

let rig: StoreRig;
let index: OpenedHostIndex;

beforeEach(() => {
  rig = createStoreRig();
  index = rig.openIndex();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

const ada = brandId<AgentId>("ada");
const nonce = (text: string): ClientNonce => brandId<ClientNonce>(text);

/** an agent whose store is closed, and whose row the index may or may not have */
async function makeStore(agentId: string, summary = agentId): Promise<void> {
  await using store = rig.open(agentId, { seq: index.seq });
  await store.transact((tx) => {
    tx.setValue("summary", { name: summary });
    tx.insertPrompt(promptRow(`nonce-${agentId}`));
    tx.insertTurn(turnRow(1));
    tx.emit("test", {});
  });
}

async function makeAgents(count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, at) => `agent-${String(at).padStart(3, "0")}`);
  for (const name of names) await makeStore(name);
  return names;
}

/** The host ends in good order. */
async function restart(): Promise<void> {
  await index.close();
  index = rig.openIndex();
}

function namesOf(found: OpenedHostIndex): readonly AgentId[] {
  return found.agents().map(({ agentId }) => agentId);
}

test("catching up lets other work run, and ends with every row", async () => {
  const names = await makeAgents(20);
  await restart();
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await index.catchUp();
  isDone = true;
  expect(turns).toBeGreaterThan(3);
  expect(namesOf(index)).toEqual(names);
});

test("who asks in the middle of it gets all rows and nonces, not those read so far", async () => {
  const names = await makeAgents(20);
  await restart();
  const running = index.catchUp();
  expect(index.findNonce(nonce("nonce-agent-019"))).toBe("agent-019");
  expect(namesOf(index)).toEqual(names);
  await running;
});

test("an index that is closed before it has caught up claims nothing of what it hasn't seen", async () => {
  await makeStore("ada", "old");
  index.putAgent({ agentId: ada, summary: { name: "old" }, lastSeq: 1, hasOpenTurn: true });
  await index.close();
  // Changed by another program, or by a host that was killed: later than the row, and without a log left over.
  const changed = new SqliteDatabase(join(rig.agentFolder("ada"), "store.db"));
  changed.prepare("UPDATE kv SET value = ?, sum = NULL WHERE key = 'summary'").run('{"name":"new"}');
  changed.close();
  const soon = new Date(Date.now() + 1);
  utimesSync(join(rig.agentFolder("ada"), "store.db"), soon, soon);
  await rig.openIndex().close();
  expect(rig.openIndex().agents()).toMatchObject([{ agentId: ada, summary: { name: "new" } }]);
});

test("a folder that was put there while the host was down is in the roster", async () => {
  await makeStore("ada");
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: true });
  await index.close();
  // Restored from a copy: an agent that this index has never seen.
  const before = createStoreRig();
  await before.open("eve").transact((tx) => tx.setValue("summary", { name: "eve" }));
  await before.open("eve").close();
  cpSync(before.agentFolder("eve"), rig.agentFolder("eve"), { recursive: true, preserveTimestamps: true });
  await before[Symbol.asyncDispose]();
  const next = rig.openIndex();
  await next.catchUp();
  expect(namesOf(next)).toEqual(["ada", "eve"]);
});

test("a store in another agent's folder is that agent's neither in the roster nor by its nonces", async () => {
  await makeStore("ada");
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: true });
  await index.close();
  cpSync(rig.agentFolder("ada"), rig.agentFolder("eve"), { recursive: true });
  const next = rig.openIndex();
  await next.catchUp();
  expect(namesOf(next)).toEqual(["ada"]);
  expect(next.findNonce(nonce("nonce-ada"))).toBe("ada");
});

test("an agent whose folder has lost its store stays in the roster, where the loss shows", async () => {
  await makeStore("ada");
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: true });
  await index.close();
  rmSync(join(rig.agentFolder("ada"), "store.db"));
  const next = rig.openIndex();
  await next.catchUp();
  expect(namesOf(next)).toEqual(["ada"]);
});

test("a row that can't be read is made again from its store", async () => {
  await makeStore("ada");
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: true });
  await index.close();
  const other = new SqliteDatabase(join(rig.root, "host.db"));
  other.prepare("UPDATE agents SET summary = ?").run('{"name');
  other.close();
  const next = rig.openIndex();
  expect(next.agents()).toMatchObject([{ agentId: ada, summary: { name: "ada" }, hasOpenTurn: true }]);
  expect(rig.logged.join("")).toContain("index.damaged");
});

test("of a long ledger the newest nonces are read, down to where the index has them", async () => {
  await using store = rig.open("ada", { seq: index.seq });
  const accept = (from: number, count: number) =>
    store.transact((tx) => {
      tx.setValue("summary", { name: "ada" });
      for (let at = from; at < from + count; at += 1) tx.insertPrompt(promptRow(`nonce-${at}`));
    });
  await accept(0, 1_000);
  await index.close();
  await rig.openIndex().catchUp();
  const other = new SqliteDatabase(join(rig.root, "host.db"));
  // The oldest one is forgotten, so that it shows whether the whole ledger is read again.
  other.prepare("DELETE FROM nonces WHERE nonce = 'nonce-0'").run();
  other.close();
  await accept(1_000, 700);
  const next = rig.openIndex();
  const found = [0, 1, 999, 1_000, 1_699].map((at) => next.findNonce(nonce(`nonce-${at}`)));
  expect(found).toEqual([undefined, ada, ada, ada, ada]);
});

test("before the rows are up to date, an open turn of an earlier start is never denied", async () => {
  await makeStore("ada");
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: false });
  await restart();
  expect(index.mayHaveOpenTurns()).toBe(false);
  index.markOpenTurn(ada);
  expect(index.mayHaveOpenTurns()).toBe(true);
  await restart();
  expect(index.mayHaveOpenTurns()).toBe(true);
  // What a kill leaves: the files with their logs. Its marks may not have been written yet.
  index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: false });
  await restart();
  expect(index.mayHaveOpenTurns()).toBe(false);
  await index.commitHostEvent("agents", {});
  await using copy = createStoreRig();
  cpSync(rig.root, copy.root, { recursive: true, preserveTimestamps: true });
  const found = copy.openIndex();
  expect(found.mayHaveOpenTurns()).toBe(true);
  await found.catchUp();
  expect(found.mayHaveOpenTurns()).toBe(false);
});
