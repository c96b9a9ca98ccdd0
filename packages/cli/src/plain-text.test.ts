import { expect, test } from "vitest";
import { oneLine, plainText } from "./plain-text.ts";

const cases = [
  ["a\tb\nc", "a\tb\nc"],
  ["10%\r20%\r\ndone", "10%\n20%\ndone"],
  ["\u001b[1;31mred\u001b[0m", "red"],
  ["\u001b]52;c;ZXZpbA==\u0007x", "x"],
  ["\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["bell\u0007 nul\0 c1\u009b31m", "bell nul c131m"],
] as const;
test.each(cases)("%j is shown as %j", (text, shown) => {
  expect(plainText(text)).toBe(shown);
});

test("one line is cut by characters, not in the middle of one", () => {
  expect(oneLine("a\n  b 😀😀😀", 6)).toBe("a b 😀…");
});
