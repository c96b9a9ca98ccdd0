import { expect, test } from "vitest";
import { parseMetadata } from "./metadata.ts";

test("headers with the prefix are metadata, others aren't", () => {
  expect(parseMetadata({ "x-metadata-author": ["me"], "content-type": ["text/plain"] })).toEqual({
    author: "me",
  });
});

test("of a header that comes twice the first is taken", () => {
  expect(parseMetadata({ "x-metadata-a": ["1", "2"] })).toEqual({ a: "1" });
});

test.each([
  ["a name that is too long", { [`x-metadata-${"k".repeat(247)}`]: ["1"] }],
  ["no name", { "x-metadata-": ["1"] }],
  ["a value outside of ASCII", { "x-metadata-a": ["é"] }],
  ["a control character", { "x-metadata-a": ["a\tb"] }],
  ["more than 4096 bytes in all", { "x-metadata-a": ["x".repeat(4096)] }],
])("%s is refused", (_what, headers) => {
  expect(() => parseMetadata(headers)).toThrow(/invalid_argument/u);
});

test("the longest name and exactly 4096 bytes are let in", () => {
  const key = "k".repeat(246);
  const value = "x".repeat(4096 - 246 - "user.e2b.".length);
  expect(parseMetadata({ [`x-metadata-${key}`]: [value] })).toEqual({ [key]: value });
});
