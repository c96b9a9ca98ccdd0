import { expect, test } from "vitest";
import { createSeededRandom } from "./seeded-random.ts";

test("the same seed gives the same numbers, and another seed others", () => {
  const draw = (seed: number) => {
    const random = createSeededRandom(seed);
    return [random.next(), random.whole(1, 1_000_000), random.word(12)];
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("a whole number keeps within its bounds and reaches both", () => {
  const random = createSeededRandom(1);
  const drawn = new Set(Array.from({ length: 400 }, () => random.whole(3, 5)));
  expect([...drawn].sort()).toEqual([3, 4, 5]);
});

test("a fork doesn't shift the source that it came from", () => {
  const plain = createSeededRandom(9);
  const forked = createSeededRandom(9);
  forked.fork("other").next();
  expect(forked.next()).toBe(plain.next());
});
