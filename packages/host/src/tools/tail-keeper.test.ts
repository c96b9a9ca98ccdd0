import { expect, test } from "vitest";
import { createTailKeeper } from "./tail-keeper.ts";

test("no more than the tail and one piece is held, whatever is added and however", () => {
  for (const size of [1, 7, 4_096, 100_000]) {
    const tail = createTailKeeper(1_000);
    for (let added = 0; added < 300_000; added += size) tail.add("é".repeat(size));
    const held = tail.text();
    expect(Buffer.byteLength(held)).toBeGreaterThanOrEqual(1_000);
    expect(held.length).toBeLessThan(1_000 + 2 * 4_096);
  }
});

test("a surrogate pair is never split between two pieces", () => {
  const tail = createTailKeeper(1_000_000);
  const text = `x${"😀".repeat(10_000)}`;
  tail.add(text);
  expect(tail.text()).toBe(text);
});
