import { expect, test } from "vitest";
import { createVirtualClock } from "./virtual-clock.ts";

test("sleepers wake in the order of their times, each at its own time", async () => {
  const clock = createVirtualClock(0);
  const woken: string[] = [];
  const sleep = async (name: string, ms: number) => {
    await clock.sleep(ms);
    woken.push(`${name} at ${clock.nowMs()}`);
  };
  const sleeping = [sleep("late", 30), sleep("early", 10), sleep("never yet", 100)];
  await clock.advance(50);
  expect(woken).toEqual(["early at 10", "late at 30"]);
  expect(clock.sleeperCount()).toBe(1);
  await clock.advance(50);
  await Promise.all(sleeping);
});

test("a sleeper that a wake started is woken within the same advance", async () => {
  const clock = createVirtualClock(0);
  let rounds = 0;
  const loop = async () => {
    while (rounds < 3) {
      await clock.sleep(10);
      rounds += 1;
    }
  };
  const running = loop();
  await clock.advance(30);
  await running;
  expect(rounds).toBe(3);
});

test("an abort ends a sleep at once", async () => {
  const clock = createVirtualClock(0);
  const stop = new AbortController();
  const sleeping = clock.sleep(1_000, stop.signal);
  stop.abort();
  await sleeping;
  expect(clock.sleeperCount()).toBe(0);
});
