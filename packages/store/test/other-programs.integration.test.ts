/** Other programs that have a store open: a reader that pins the write-ahead log, a writer that holds the lock. */
import { statSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStoreRig, message, type StoreRig } from "./store-rig.ts";

let rig: StoreRig;
beforeEach(() => {
  rig = createStoreRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

const megabyte = 1_048_576;
const walLimits = { alarmBytes: 2 * megabyte, maxBytes: 6 * megabyte, retryMs: 0 };
const storePath = () => join(rig.agentFolder("ada"), "store.db");
const walBytes = () => statSync(`${storePath()}-wal`).size;

/** a reader in the middle of a read, as a copy or a forgotten shell is */
function pin(): SqliteDatabase.Database {
  const reader = new SqliteDatabase(storePath(), { readonly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM transcript_entries").get();
  return reader;
}

test("a log that a reader pins is bounded, said once, and emptied when the reader is gone", async () => {
  const store = rig.open("ada", { walLimits });
  await store.transact((tx) => tx.setValue("first", 0));
  const reader = pin();
  const grow = (number: number) =>
    store.transact((tx) => tx.appendEntry(message(`e${number}`, "x".repeat(100_000))));
  let stored = 0;
  const refusal = (async () => {
    for (; stored < 1_000; stored += 1) await grow(stored);
  })();
  await expect(refusal).rejects.toMatchObject({
    code: "store/unavailable",
    hint: expect.stringMatching(/-wal open$/u),
  });
  expect(stored).toBeGreaterThan(20);
  expect(walBytes()).toBeLessThan(walLimits.maxBytes + megabyte);
  expect(rig.logged.filter((line) => line.includes("store.wal-large"))).toHaveLength(1);
  // What was refused left no trace and the store is sound: it can still be read.
  expect(store.healthy).toBe(true);
  expect(store.read.entriesBefore({ limit: 5_000 }).entries).toHaveLength(stored);
  reader.close();
  await grow(stored);
  expect(walBytes()).toBeLessThan(megabyte);
});

test("a log that was pinned for a while shrinks again by itself", async () => {
  const store = rig.open("ada");
  await store.transact((tx) => tx.setValue("first", 0));
  const reader = pin();
  for (let number = 0; number < 120; number += 1)
    await store.transact((tx) => tx.appendEntry(message(`e${number}`, "x".repeat(100_000))));
  expect(walBytes()).toBeGreaterThan(10 * megabyte);
  reader.close();
  for (let number = 0; number < 3; number += 1) await store.transact((tx) => tx.setValue("last", number));
  expect(walBytes()).toBeLessThan(5 * megabyte);
});

test("a writer that holds the lock too long refuses changes, and they work once it lets go", async () => {
  const store = rig.open("ada");
  await store.transact((tx) => tx.setValue("key", "before"));
  const other = new SqliteDatabase(storePath());
  other.exec("BEGIN IMMEDIATE");
  await expect(store.transact((tx) => tx.setValue("key", "refused"))).rejects.toMatchObject({
    code: "store/unavailable",
  });
  other.exec("COMMIT");
  other.close();
  await store.transact((tx) => tx.setValue("again", true));
  expect([store.read.getValue("key"), store.read.getValue("again")]).toEqual(["before", true]);
});
