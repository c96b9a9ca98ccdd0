import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { InvariantError } from "@sand/protocol";
import { expect, test } from "vitest";
import { createEventHub } from "./event-hub.ts";

const committed = (seq: number) => ({ seq, channel: "transcript", payload: { seq } });

test("every listener gets the same encoded event, in the order of publishing", () => {
  const hub = createEventHub({ lastSeq: 0 });
  const seen: unknown[][] = [[], []];
  for (const list of seen) hub.subscribe((event) => list.push(event));
  hub.publish([committed(1), committed(5)]);
  expect(seen[0]).toHaveLength(2);
  expect(seen[0]?.[1]).toBe(seen[1]?.[1]);
  expect(hub.lastSeq()).toBe(5);
});

test("a listener that left gets nothing more", () => {
  const hub = createEventHub({ lastSeq: 0 });
  const seen: number[] = [];
  const leave = hub.subscribe((event) => seen.push(event.seq ?? -1));
  hub.publish([committed(1)]);
  leave();
  hub.publish([committed(2)]);
  expect(seen).toEqual([1]);
});

test("an event with an older seq is a bug of the caller", () => {
  const hub = createEventHub({ lastSeq: 10 });
  expect(() => hub.publish([committed(10)])).toThrow(InvariantError);
});

test("the ring serves what it holds and says when it no longer holds all", () => {
  const hub = createEventHub({ lastSeq: 10, ringMaxEvents: 3 });
  hub.publish([11, 13, 14, 20, 21].map(committed));
  const since = (seq: number, limit = 9) => hub.recentSince(seq, limit)?.map((event) => event.seq);
  expect(since(10)).toBeUndefined();
  expect(since(12)).toBeUndefined();
  expect(since(13)).toEqual([14, 20, 21]);
  expect(since(15)).toEqual([20, 21]);
  expect(since(13, 2)).toEqual([14, 20]);
  expect(since(21)).toEqual([]);
});

test("a fresh ring holds everything since the start of the host", () => {
  const hub = createEventHub({ lastSeq: 10 });
  expect(hub.recentSince(10, 9)).toEqual([]);
  expect(hub.recentSince(9, 9)).toBeUndefined();
});

test("the ring is bounded by bytes too", () => {
  const hub = createEventHub({ lastSeq: 0, ringMaxBytes: 1_000 });
  for (let seq = 1; seq <= 5_000; seq += 1)
    hub.publish([{ seq, channel: "c", payload: { text: "x".repeat(300) } }]);
  expect(hub.recentSince(4_998, 9)?.map((event) => event.seq)).toEqual([4_999, 5_000]);
  expect(hub.recentSince(4_990, 9)).toBeUndefined();
});

test("an event that left the ring is free at once", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const hub = createEventHub({ lastSeq: 0, ringMaxBytes: 1_000 });
  const payload = { text: "x".repeat(100_000) };
  for (let seq = 1; seq <= 1_000; seq += 1) hub.publish([{ seq, channel: "c", payload }]);
  await new Promise(setImmediate);
  collect();
  collect();
  await expect.poll(() => process.memoryUsage().arrayBuffers).toBeLessThan(50_000_000);
});

test("transient events pass and are not kept", () => {
  const hub = createEventHub({ lastSeq: 0 });
  const seen: string[] = [];
  hub.subscribe((event) => seen.push(event.channel));
  hub.publish([{ seq: null, channel: "turn-delta", payload: {} }]);
  expect(seen).toEqual(["turn-delta"]);
  expect(hub.recentSince(0, 9)).toEqual([]);
});
