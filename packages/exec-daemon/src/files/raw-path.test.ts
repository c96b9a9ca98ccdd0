import { expect, test } from "vitest";
import { asRaw, bytesOf, joinRaw, oddBytesOf, rawOfAsked, rawOfText, textOf } from "./raw-path.ts";

const none = new Uint8Array();

test.each(["plain", "häßlich/日本", "a b\n", "\u{1f600}"])("text is the same text again: %j", (text) => {
  expect(textOf(rawOfText(text))).toBe(text);
  expect(oddBytesOf(rawOfText(text))).toHaveLength(0);
});

test("bytes that are no text stay what they are, and are told beside the text", () => {
  const bytes = Buffer.from([0x61, 0xff, 0xc3]);
  const path = rawOfAsked({ path: "ignored", pathBytes: bytes });
  expect(bytesOf(path).equals(bytes)).toBe(true);
  expect(Buffer.from(oddBytesOf(path)).equals(bytes)).toBe(true);
  expect(textOf(path)).toBe("a\ufffd\ufffd");
});

test("joining works on bytes as on text", () => {
  const joined = joinRaw(rawOfText("/ä"), asRaw("../\u00ff"));
  expect(bytesOf(joined)).toEqual(Buffer.from([0x2f, 0xff]));
});

test("a path without an end or with a NUL is refused", () => {
  expect(() => rawOfAsked({ path: "a\0b", pathBytes: none })).toThrow("NUL");
  expect(() => rawOfAsked({ path: "", pathBytes: new Uint8Array([0x61, 0]) })).toThrow("NUL");
  expect(() => rawOfAsked({ path: "x".repeat(4097), pathBytes: none })).toThrow("4096");
});
