import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { IndexedAgent } from "@sand/agent-core";
import { type AgentId, brandId, type ClientNonce } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OpenedHostIndex } from "../src/index.ts";
import { createStoreRig, promptRow, type StoreRig } from "./store-rig.ts";

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
const bob = brandId<AgentId>("bob");
const nonce = (text: string): ClientNonce => brandId<ClientNonce>(text);

function row(agentId: AgentId, changes: Partial<IndexedAgent> = {}): IndexedAgent {
  return { agentId, summary: { name: agentId }, lastSeq: 0, hasOpenTurn: false, ...changes };
}

/** an agent of the roster has a store; one whose store is gone is taken for deleted */
async function withStores(...agentIds: readonly AgentId[]): Promise<void> {
  for (const agentId of agentIds) await rig.open(agentId, { seq: index.seq }).close();
}

async function reopen(): Promise<void> {
  await index.close();
  index = rig.openIndex();
}

describe("the roster", () => {
  test("a row is seen at once, replaced by the next, and there after a restart", async () => {
    await withStores(ada, bob);
    index.putAgent(row(bob));
    index.putAgent(row(ada));
    index.putAgent(row(ada, { summary: { name: "renamed" }, lastSeq: 3, hasOpenTurn: true }));
    const rows = [row(ada, { summary: { name: "renamed" }, lastSeq: 3, hasOpenTurn: true }), row(bob)];
    expect(index.agents()).toEqual(expect.arrayContaining(rows));
    await reopen();
    expect(index.agents()).toEqual(rows);
  });

  test("a removed agent is gone at once and after a restart, with its nonces", async () => {
    await withStores(ada, bob);
    index.putAgent(row(ada));
    index.claimNonce(nonce("n1"), ada);
    index.claimNonce(nonce("n2"), bob);
    index.removeAgent(ada);
    expect(index.agents()).toEqual([]);
    await reopen();
    expect(index.agents()).toEqual([]);
    expect(index.findNonce(nonce("n1"))).toBeUndefined();
    expect(index.findNonce(nonce("n2"))).toBe(bob);
  });

  test("the last seq of a row only rises, and a row that isn't there isn't made", async () => {
    index.putAgent(row(ada, { lastSeq: 5 }));
    index.noteLastSeq(ada, 9);
    index.noteLastSeq(ada, 7);
    index.noteLastSeq(bob, 9);
    expect(index.agents()).toEqual([row(ada, { lastSeq: 9 })]);
  });
});

describe("the mark of an open turn", () => {
  test("is seen at once and after a restart, until a row without it is put", async () => {
    await withStores(ada);
    index.putAgent(row(ada));
    index.markOpenTurn(ada);
    expect(index.agents()).toEqual([row(ada, { hasOpenTurn: true })]);
    await reopen();
    expect(index.agents()).toEqual([row(ada, { hasOpenTurn: true })]);
    index.putAgent(row(ada));
    await reopen();
    expect(index.agents()).toEqual([row(ada)]);
  });
});

describe("nonces", () => {
  test("the newest claim is found at once, and after a restart", async () => {
    index.claimNonce(nonce("n1"), ada);
    expect(index.findNonce(nonce("n1"))).toBe(ada);
    index.claimNonce(nonce("n1"), bob);
    expect(index.findNonce(nonce("n1"))).toBe(bob);
    await reopen();
    expect(index.findNonce(nonce("n1"))).toBe(bob);
    index.claimNonce(nonce("n1"), ada);
    expect(index.findNonce(nonce("n1"))).toBe(ada);
    expect(index.findNonce(nonce("n2"))).toBeUndefined();
  });

  test("a claim is found all the while it is being written", async () => {
    index.claimNonce(nonce("n1"), ada);
    const writtenAtMs = Date.now() + 10_000;
    const reader = new SqliteDatabase(join(rig.root, "host.db"), { readonly: true });
    const onDisk = reader.prepare("SELECT agent_id FROM nonces WHERE nonce = 'n1'").pluck();
    while (onDisk.get() === undefined && Date.now() < writtenAtMs) {
      expect(index.findNonce(nonce("n1"))).toBe(ada);
      await setImmediate();
    }
    expect(onDisk.get()).toBe("ada");
    reader.close();
    expect(index.findNonce(nonce("n1"))).toBe(ada);
  });

  test("the nonces of a store that a killed host left behind are found by the next start", async () => {
    const store = rig.open(ada, { seq: index.seq });
    await store.transact((tx) => {
      tx.setValue("summary", { name: "ada" });
      tx.insertPrompt(promptRow("only-in-the-store"));
    });
    // Neither is closed, as after a kill: the index never heard of the nonce.
    const next = rig.openIndex();
    expect(next.findNonce(nonce("only-in-the-store"))).toBe(ada);
    expect(next.agents()).toMatchObject([{ agentId: ada, hasOpenTurn: true }]);
  });
});

describe("creations", () => {
  test("a creation is found by its nonce, with its digest, also after its agent is removed", async () => {
    expect(index.findCreation(nonce("c1"))).toBeUndefined();
    await index.recordCreation(nonce("c1"), ada, "digest");
    index.removeAgent(ada);
    await reopen();
    expect(index.findCreation(nonce("c1"))).toEqual({ agentId: ada, digest: "digest" });
  });

  test("a creation isn't recorded twice", async () => {
    await index.recordCreation(nonce("c1"), ada, "digest");
    await expect(index.recordCreation(nonce("c1"), bob, "other")).rejects.toThrow();
    expect(index.findCreation(nonce("c1"))).toEqual({ agentId: ada, digest: "digest" });
    expect(index.healthy).toBe(true);
  });
});

describe("host events", () => {
  test("an event gets a seq, is published when committed, and is read back after a restart", async () => {
    const first = await index.commitHostEvent("agents", { number: 1 });
    const second = await index.commitHostEvent("agents", { number: 2 });
    expect(rig.published).toEqual([first, second]);
    expect(second.seq).toBeGreaterThan(first.seq);
    await reopen();
    expect(index.hostEventsSince(0, 9)).toEqual([first, second]);
    expect(index.hostEventsSince(first.seq, 9)).toEqual([second]);
    expect(index.hostEventsSince(0, 1)).toEqual([first]);
  });

  test("trimming raises the floor of cursors", async () => {
    for (let group = 0; group < 13; group += 1) {
      await Promise.all(Array.from({ length: 500 }, () => index.commitHostEvent("agents", {})));
    }
    const floor = index.resumeFloor();
    expect(floor).toBeGreaterThan(0);
    expect(index.hostEventsSince(floor - 1, 9)).toBeUndefined();
    expect(index.hostEventsSince(floor, 9)?.[0]?.seq).toBe(floor + 1);
    expect(index.hostEventsSince(floor, 9_999)?.length).toBeGreaterThanOrEqual(5_000);
  });
});

describe("seq", () => {
  test("agents and host events share one line of numbers", async () => {
    const store = rig.open("ada", { seq: index.seq });
    const numbers = [
      (await index.commitHostEvent("agents", {})).seq,
      (await store.transact((tx) => tx.emit("test", {}))).events[0]?.seq,
      (await index.commitHostEvent("agents", {})).seq,
    ];
    expect(numbers).toEqual([1, 2, 3]);
    expect(index.lastSeq()).toBe(3);
  });

  test("a start goes on above everything that was given out before", async () => {
    const before = (await index.commitHostEvent("agents", {})).seq;
    await reopen();
    expect(index.lastSeq()).toBeGreaterThanOrEqual(before);
    expect((await index.commitHostEvent("agents", {})).seq).toBeGreaterThan(before);
  });

  test("a cursor from before an orderly restart can be resumed", async () => {
    await index.commitHostEvent("agents", {});
    await reopen();
    expect(index.resumeFloor()).toBe(0);
  });
});
