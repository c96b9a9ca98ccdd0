import { expect, test } from "vitest";
import { createFlowBudget } from "./flow-budget.ts";

const limits = { messagesPerSecond: 10, messagesBurst: 20, bytesPerSecond: 100, bytesBurst: 1000 };

test("a burst is taken at once, and what goes beyond it waits until it is paid", () => {
  let nowMs = 0;
  const budget = createFlowBudget(limits, () => nowMs);
  expect(budget.take(20, 10)).toBe(0);
  expect(budget.take(5, 10)).toBe(500);
  nowMs = 500;
  expect(budget.take(0, 0)).toBe(0);
  expect(budget.take(1, 0)).toBe(100);
});

test("bytes count as well as messages", () => {
  const budget = createFlowBudget(limits, () => 0);
  expect(budget.take(1, 1200)).toBe(2000);
});

test("a quiet time is no credit beyond the burst", () => {
  let nowMs = 0;
  const budget = createFlowBudget(limits, () => nowMs);
  nowMs = 60_000;
  expect(budget.take(20, 0)).toBe(0);
  expect(budget.take(1, 0)).toBe(100);
});
