import { expect, test } from "vitest";
import { planRetention, planSpoolDrops } from "./plan-retention.ts";

const finished = [1, 2, 3, 4].map((endedAtMs) => ({ executionId: `e${endedAtMs}`, endedAtMs }));

test.each([
  ["what is within both bounds stays", { finishedMax: 4, finishedMaxAgeMs: 100 }, []],
  ["the oldest go when there are too many", { finishedMax: 2, finishedMaxAgeMs: 100 }, ["e2", "e1"]],
  ["what is too old goes", { finishedMax: 4, finishedMaxAgeMs: 7 }, ["e2", "e1"]],
])("%s", (_name, bounds, gone) => {
  expect(planRetention(finished, bounds, 10)).toEqual(gone);
});

const held = [1, 2, 3, 4].map((endedAtMs) => ({ endedAtMs, bytes: endedAtMs === 3 ? 0 : 10 }));

test.each([
  ["what is within the bound stays", 30, []],
  ["the oldest lose theirs until the others are within it", 20, [1]],
  ["also the newest, when it is larger than all may be", 5, [4, 2, 1]],
])("of bytes, %s", (_name, bytesMax, dropped) => {
  expect(planSpoolDrops(held, bytesMax).map(({ endedAtMs }) => endedAtMs)).toEqual(dropped);
});
