import { expect, test } from "vitest";
import { createTextJoiner, makeSafeJson, makeSafeText } from "./safe-text.ts";

test.each([
  ["plain", "plain"],
  ["😀", "😀"],
  ["a\ud83db", "a\ufffdb"],
  ["\ude00", "\ufffd"],
  ["a\0b", "a\ufffdb"],
])("%j is safe as %j", (text, safe) => {
  expect(makeSafeText(text)).toBe(safe);
});

test("a JSON value is made safe in each string and name", () => {
  const value = { "n\0": ["\ud800", { deep: "x\0" }], n: 1, t: true, z: null };
  expect(makeSafeJson(value)).toEqual({ "n\ufffd": ["\ufffd", { deep: "x\ufffd" }], n: 1, t: true, z: null });
});

test("a pair in two deltas stays whole, and a half that stays alone is replaced at the end", () => {
  const joiner = createTextJoiner();
  expect([joiner.push("a\ud83d"), joiner.push("\ude00b\ud83d"), joiner.flush(), joiner.flush()]).toEqual([
    "a",
    "😀b",
    "\ufffd",
    "",
  ]);
});

test("a held half without its other half is replaced when other text follows", () => {
  const joiner = createTextJoiner();
  expect(joiner.push("\ud83d") + joiner.push("x")).toBe("\ufffdx");
});
