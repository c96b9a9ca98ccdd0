import { InvariantError } from "@sand/protocol";
import { expect, test } from "vitest";
import { packPayload, unpackPayload } from "./payload.ts";

test.each([
  ["a NUL \0 inside"],
  ["a lone surrogate \ud800 inside"],
  ["line ends \r\n\u2028\u2029"],
  ["\u{1f600}"],
])("%j comes back as it was", (text) => {
  // SQLite keeps UTF-8, so the text must survive that as well.
  const stored = Buffer.from(packPayload({ text }), "utf8").toString("utf8");
  expect(unpackPayload<{ text: string }>(stored)).toEqual({ text });
});

test("a value beyond the limit is refused", () => {
  expect(() => packPayload("x".repeat(16 * 1_048_576))).toThrow(InvariantError);
});
