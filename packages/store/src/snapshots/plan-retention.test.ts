import { expect, test } from "vitest";
import { planRetention } from "./plan-retention.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";

const hourMs = 3_600_000;
const nowMs = 100 * 24 * hourMs;
const row = (number: number, hoursAgo: number, epoch = 1): SnapshotRow => ({
  id: `${number}`,
  number,
  epoch,
  takenAtMs: nowMs - hoursAgo * hourMs,
  key: `k${number}`,
});
const numbers = (rows: readonly SnapshotRow[]): readonly number[] => rows.map(({ number }) => number);

test("the newest are kept, and of each earlier day its last one", () => {
  const rows = Array.from({ length: 100 }, (_, index) => row(index + 1, (99 - index) * 6 + 1));
  const kept = planRetention(rows, { newest: 5, days: 7 }, nowMs);
  expect(numbers(kept)).toEqual([76, 80, 84, 88, 92, 96, 97, 98, 99, 100]);
});

test("the last snapshot of each earlier owner is kept, however old it is", () => {
  const rows = [row(1, 900, 1), row(2, 800, 1), row(3, 700, 2), row(4, 600, 2), row(5, 2, 3), row(6, 1, 3)];
  expect(numbers(planRetention(rows, { newest: 1, days: 0 }, nowMs))).toEqual([2, 4, 6]);
});

test("the newest is kept whatever the policy says, and nothing is made up", () => {
  expect(numbers(planRetention([row(3, 5_000)], { newest: 0, days: 0 }, nowMs))).toEqual([3]);
  expect(planRetention([], { newest: 3, days: 3 }, nowMs)).toEqual([]);
});
