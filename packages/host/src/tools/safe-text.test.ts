import { expect, test } from "vitest";
import { isSafeText, makeTextSafe, quoteName, toOneLine } from "./safe-text.ts";

test("NULs and lone surrogates become visible characters, pairs stay", () => {
  expect(makeTextSafe("a\0b\ud800c😀\udc00")).toBe("a\u2400b\ufffdc😀\ufffd");
  expect([isSafeText("a😀"), isSafeText("\0"), isSafeText("\ud800"), isSafeText("x\udc00")]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test("a summary is one line of bounded length", () => {
  expect(toOneLine(" a\n\tb  c ", 80)).toBe("a b c");
  expect(toOneLine("x".repeat(10_000), 10)).toBe("xxxxxxxxx…");
  expect(toOneLine(`${"x".repeat(8)}😀yyyy`, 10).isWellFormed()).toBe(true);
});

test("a name with a line break can't forge a second line", () => {
  expect(quoteName("a\nb")).toBe('"a\\nb"');
  expect(quoteName("plain name.txt")).toBe("plain name.txt");
});
