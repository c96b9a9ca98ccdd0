import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRetryTimer } from "./retry-timer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("pauses double up to the longest, and begin anew when things go well", () => {
  let runs = 0;
  const timer = createRetryTimer({ retryMs: 100, retryMaxMs: 300 }, () => {
    runs += 1;
  });
  expect(timer.later()).toBe(true);
  expect(timer.later()).toBe(false);
  vi.advanceTimersByTime(99);
  expect(runs).toBe(0);
  vi.advanceTimersByTime(1);
  expect(runs).toBe(1);
  for (const pauseMs of [200, 300, 300]) {
    expect(timer.later()).toBe(false);
    vi.advanceTimersByTime(pauseMs - 1);
    expect(timer.isWaiting()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(timer.isWaiting()).toBe(false);
  }
  timer.reset();
  expect(timer.later()).toBe(true);
  timer.stop();
  vi.advanceTimersByTime(1_000);
  expect(runs).toBe(4);
});
