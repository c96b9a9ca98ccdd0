/** How many events a file keeps, by number and by size, over restarts and undone changes. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStoreRig, type StoreRig } from "./store-rig.ts";

let rig: StoreRig;

beforeEach(() => {
  rig = createStoreRig();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

type Store = ReturnType<StoreRig["open"]>;

async function emit(store: Store, count: number, chars = 1): Promise<void> {
  await store.transact((tx) => {
    for (let number = 0; number < count; number += 1) tx.emit("test", { text: "x".repeat(chars) });
  });
}

/** the events that a client which has everything up to the gap would get */
function kept(store: Store): number {
  const all = rig.published.map(({ seq }) => seq);
  const floor = all.find((seq) => store.eventsSince(seq, 1) !== undefined) ?? 0;
  return store.eventsSince(floor, 5_000)?.length ?? 0;
}

test("events that an earlier process left count towards the limit", async () => {
  const first = rig.open();
  await emit(first, 5_900);
  await first.close();
  const again = rig.open();
  await emit(again, 200);
  expect(again.eventsSince(0, 1)).toBeUndefined();
  expect(kept(again)).toBe(5_000);
});

test("large events are kept up to a size, the newest whatever it has, and the gap is said", async () => {
  const store = rig.open();
  const largeChars = 10 * 1_048_576;
  for (let group = 0; group < 12; group += 1) await emit(store, 1, largeChars);
  expect(store.eventsSince(0, 1)).toBeUndefined();
  expect(kept(store)).toBeGreaterThanOrEqual(5);
  expect(kept(store)).toBeLessThanOrEqual(8);
  const last = rig.published.at(-1)?.seq ?? 0;
  expect(store.eventsSince(last - 1, 1)).toHaveLength(1);
});

test("a change that was undone doesn't count", async () => {
  const store = rig.open();
  await emit(store, 1);
  const undone = Array.from({ length: 12 }, () =>
    store.transact((tx) => {
      tx.emit("test", { text: "x".repeat(10 * 1_048_576) });
      throw new Error("no");
    }),
  );
  await Promise.allSettled(undone);
  await emit(store, 1);
  expect(store.eventsSince(0, 9)).toHaveLength(2);
});
