import type { Clock } from "@sand/protocol";
import { expect, test } from "vitest";
import { startStallWatch } from "./stall-watch.ts";

/** Time that moves only when told to; a sleeper wakes when its time has come. */
function createManualClock(): Clock & { advance(ms: number): Promise<void> } {
  let nowMs = 0;
  const sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>();
  return {
    nowMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = { untilMs: nowMs + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => resolve(), { once: true });
      }),
    async advance(ms) {
      for (let step = 0; step < ms; step += 1) {
        nowMs += 1;
        for (const sleeper of sleepers) {
          if (sleeper.untilMs > nowMs) continue;
          sleepers.delete(sleeper);
          sleeper.wake();
        }
        // Lets the woken watch arm its next sleep before time moves on.
        await Promise.resolve();
        await Promise.resolve();
      }
    },
  };
}

test("it aborts at the deadline and says what was waited for", async () => {
  const clock = createManualClock();
  const watch = startStallWatch(clock, 10);
  watch.expectWithin(30, "first token");
  await clock.advance(29);
  expect([watch.signal.aborted, watch.expired]).toEqual([false, undefined]);
  await clock.advance(1);
  expect([watch.signal.aborted, watch.expired]).toEqual([true, "first token"]);
  await watch.stop();
});

test("time doesn't count while nothing is expected", async () => {
  const clock = createManualClock();
  const watch = startStallWatch(clock, 10);
  watch.expectWithin(30, "token");
  watch.arrived();
  await clock.advance(500);
  expect(watch.signal.aborted).toBe(false);
  await watch.stop();
});

test("a new expectation replaces the old one", async () => {
  const clock = createManualClock();
  const watch = startStallWatch(clock, 10);
  watch.expectWithin(30, "first token");
  await clock.advance(20);
  watch.expectWithin(30, "further token");
  await clock.advance(29);
  expect(watch.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(watch.expired).toBe("further token");
  await watch.stop();
});

test("a stopped watch never aborts", async () => {
  const clock = createManualClock();
  const watch = startStallWatch(clock, 10);
  watch.expectWithin(30, "token");
  await watch.stop();
  await clock.advance(100);
  expect(watch.signal.aborted).toBe(false);
});
