/** The collector beside changes that write the very payloads that it is about to remove. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AgentWorkerPool, createAgentWorkerPool } from "../src/index.ts";
import { createStoreRig, message, promptRow, type StoreRig } from "./store-rig.ts";

const entry = fileURLToPath(new URL("../src/blobs/blob-thread.ts", import.meta.url));
const long = (mark: string): string => `${mark} and on `.repeat(9_000);

let rig: StoreRig;
let pool: AgentWorkerPool;
beforeEach(() => {
  rig = createStoreRig();
  pool = createAgentWorkerPool({ entry, dataRoot: rig.root, logger: rig.logger });
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  await pool.close();
});

const blobPath = (): string => join(rig.agentFolder("ada"), "conversation-blobs.db");

function blobIds(): string[] {
  const database = new SqliteDatabase(blobPath(), { readonly: true });
  try {
    return database.prepare<unknown[], string>("SELECT id FROM blobs").pluck().all();
  } finally {
    database.close();
  }
}

test("a payload that is written again while it is being collected is kept", async () => {
  const store = rig.open("ada", { blobWorkers: pool });
  const rounds = 40;
  for (let round = 0; round < rounds; round += 1) {
    const text = long(`round ${round}`);
    const failing = store.transact((tx) => {
      tx.insertPrompt(promptRow(`failed-${round}`, { text }));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    // Both orders of arrival occur, and everything in between.
    const settling = store.settlePayloads();
    for (let turn = 0; turn < round % 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const written = store.transact((tx) => tx.insertPrompt(promptRow(`n-${round}`, { text })));
    await Promise.all([settling, written]);
  }
  await store.close();
  const again = rig.open("ada");
  for (let round = 0; round < rounds; round += 1) {
    expect(again.read.findPrompt(brandId(`n-${round}`))?.text).toBe(long(`round ${round}`));
  }
});

test("a drop that follows an older listing, or that names what was put since, removes nothing", async () => {
  const store = rig.open("ada");
  await store.transact((tx) => tx.setValue("key", 1));
  const path = blobPath();
  const put = (text: string) => pool.call(path, "put", { blobs: [Buffer.from(text)] });
  const list = () => pool.call(path, "list", { after: null, limit: 10 });
  await put("one");
  const old = await list();
  const ids = old.blobs.map(({ id }) => id);
  const listed = await list();
  await expect(pool.call(path, "drop", { epoch: old.epoch, ids, settledThrough: 0 })).rejects.toMatchObject({
    code: "store/unavailable",
  });
  const fresh = await list();
  await put("one");
  expect(await pool.call(path, "drop", { epoch: fresh.epoch, ids, settledThrough: 1 })).toEqual({
    dropped: 0,
  });
  // It is looked at again, since it may be dropped the next time.
  expect((await list()).blobs).toEqual(listed.blobs);
});

test("what only an event names goes when the event is trimmed", async () => {
  const store = rig.open("ada", { blobWorkers: pool });
  await store.transact((tx) => tx.emit("outline", { text: long("event") }));
  await store.settlePayloads();
  expect(blobIds()).toHaveLength(1);
  for (let batch = 0; batch < 13; batch += 1) {
    await store.transact((tx) => {
      for (let at = 0; at < 500; at += 1) tx.emit("outline", { at });
    });
  }
  expect(store.eventsSince(0, 1)).toBeUndefined();
  expect(await store.settlePayloads()).toEqual({ root: null, removed: 1 });
  expect(blobIds()).toEqual([]);
});

test("a collection looks only at what came since the last one", async () => {
  const store = rig.open("ada", { blobWorkers: pool });
  for (let at = 0; at < 5; at += 1)
    await store.transact((tx) => tx.insertPrompt(promptRow(`n${at}`, { text: long(`${at}`) })));
  await store.settlePayloads();
  // The root and its last page are all that may still go.
  expect((await pool.call(blobPath(), "list", { after: null, limit: 100 })).blobs.length).toBeLessThanOrEqual(
    2,
  );
});

test("a lost root is made anew from the store", async () => {
  const store = rig.open("ada", { blobWorkers: pool });
  await store.transact((tx) => tx.insertPrompt(promptRow("n1", { text: long("one") })));
  const { root } = await store.settlePayloads();
  await store.close();
  const database = new SqliteDatabase(blobPath());
  database.prepare("DELETE FROM blobs WHERE id = ?").run(root);
  database.close();
  const again = rig.open("ada", { blobWorkers: pool });
  expect(await again.settlePayloads()).toMatchObject({ root });
  expect(blobIds()).toContain(root);
});

test("an agent without large payloads has nothing to settle, and gets no thread", async () => {
  const store = rig.open("ada", { blobWorkers: pool });
  await store.transact((tx) => tx.appendEntry(message("e1")));
  expect(await store.settlePayloads()).toEqual({ root: null, removed: 0 });
  expect(pool.paths()).toEqual([]);
});
