import { expect, test } from "vitest";
import { sizeOf } from "./local-tty.ts";

test("a terminal that doesn't know its size, or says 0, gets the usual one", () => {
  expect(sizeOf({ columns: 100, rows: 40 })).toEqual({ cols: 100, rows: 40 });
  expect(sizeOf({ columns: 0, rows: 0 })).toEqual({ cols: 80, rows: 24 });
  expect(sizeOf({})).toEqual({ cols: 80, rows: 24 });
});
