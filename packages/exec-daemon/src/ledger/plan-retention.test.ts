import { expect, test } from "vitest";
import { planRetention } from "./plan-retention.ts";

const finished = [1, 2, 3, 4].map((endedAtMs) => ({ executionId: `e${endedAtMs}`, endedAtMs }));

test.each([
  ["what is within both bounds stays", { finishedMax: 4, finishedMaxAgeMs: 100 }, []],
  ["the oldest go when there are too many", { finishedMax: 2, finishedMaxAgeMs: 100 }, ["e2", "e1"]],
  ["what is too old goes", { finishedMax: 4, finishedMaxAgeMs: 7 }, ["e2", "e1"]],
])("%s", (_name, bounds, gone) => {
  expect(planRetention(finished, bounds, 10)).toEqual(gone);
});
