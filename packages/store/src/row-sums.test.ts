import { expect, test } from "vitest";
import { checkSum, damagedRow, isDamagedRow, rowSum } from "./row-sums.ts";

const where = "entry 1";

test("a row's sum changes with each of its values and with its text, and fits into four bytes", () => {
  const sums = [rowSum(["a", 1], "x"), rowSum(["a", 2], "x"), rowSum(["b", 1], "x"), rowSum(["a", 1], "y")];
  expect(new Set(sums).size).toBe(4);
  for (const sum of sums) expect(sum | 0).toBe(sum);
});

test("a value doesn't move into its neighbour unnoticed", () => {
  expect(rowSum(["ab", "c"])).not.toBe(rowSum(["a", "bc"]));
});

test("a row that isn't what was written is told apart from other damage", () => {
  expect(() => checkSum(where, 1, 2)).toThrow(expect.objectContaining({ code: "store/damaged" }));
  expect(isDamagedRow(damagedRow(where))).toBe(true);
  expect(isDamagedRow(new Error("other"))).toBe(false);
});

test("a row from before there were sums is believed", () => {
  expect(() => checkSum(where, null, 2)).not.toThrow();
});

test("a row that lacks its text is damaged, whatever its sum says", () => {
  const read: { readonly text: string } = JSON.parse('{"text":null}');
  expect(() => rowSum(["a"], read.text)).toThrow(expect.objectContaining({ code: "store/damaged" }));
});
