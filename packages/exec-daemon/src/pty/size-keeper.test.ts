import { expect, test } from "vitest";
import { createSizeKeeper } from "./size-keeper.ts";
import type { TerminalSize } from "./terminal-backend.ts";

function world() {
  const applied: TerminalSize[] = [];
  const keeper = createSizeKeeper({ cols: 80, rows: 24 }, (size) => applied.push(size));
  return { keeper, applied };
}

test("several sizes within a moment are applied as one, the last", () => {
  const { keeper, applied } = world();
  for (let cols = 81; cols <= 120; cols += 1) keeper.wish({ cols, rows: 30 });
  keeper.settle();
  keeper.settle();
  expect(applied).toEqual([{ cols: 120, rows: 30 }]);
  expect(keeper.current).toEqual({ cols: 120, rows: 30 });
});

test("a size that ends where it began is no change", () => {
  const { keeper, applied } = world();
  keeper.wish({ cols: 100, rows: 24 });
  keeper.wish({ cols: 80, rows: 24 });
  keeper.settle();
  expect(applied).toEqual([]);
});

test("a size of nothing is ignored, also as the last of several", () => {
  const { keeper, applied } = world();
  keeper.wish({ cols: 100, rows: 24 });
  keeper.wish({ cols: 0, rows: 0 });
  keeper.settle();
  expect(applied).toEqual([{ cols: 100, rows: 24 }]);
});
