import { expect, test } from "vitest";
import { parseDetachKey, splitTyped } from "./detach-key.ts";

test.each([
  ["ctrl-]", 0x1d],
  ["ctrl-a", 1],
  ["CTRL-Z", 26],
  ["ctrl-\\", 0x1c],
  ["none", undefined],
])("%s is the key that sends %s", (text, byte) => {
  expect(parseDetachKey(text).byte).toBe(byte);
});

test.each(["ctrl-", "ctrl-ab", "a", "", "ctrl-ä", "ctrl-5"])("%j is no key", (text) => {
  expect(() => parseDetachKey(text)).toThrow(expect.objectContaining({ exit: "usage" }));
});

test("the key alone leaves, and within a paste it is the program's", () => {
  const key = parseDetachKey("ctrl-]");
  expect(splitTyped(Buffer.of(0x1d), key)).toEqual({ bytes: Buffer.alloc(0), leaves: true });
  expect(splitTyped(Buffer.from("a\u001db"), key)).toEqual({ bytes: Buffer.from("a\u001db"), leaves: false });
});

test("without a key nothing leaves", () => {
  expect(splitTyped(Buffer.of(0x1d), parseDetachKey("none")).leaves).toBe(false);
});
