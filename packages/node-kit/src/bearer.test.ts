import { expect, test } from "vitest";
import { bearerMatches } from "./bearer.ts";

test.each([
  ["the exact token", "Bearer secret", "secret", true],
  ["the scheme in any case", "bearer secret", "secret", true],
  ["another token", "Bearer secrets", "secret", false],
  ["a prefix of the token", "Bearer secre", "secret", false],
  ["another scheme", "Basic secret", "secret", false],
  ["a token alone", "secret", "secret", false],
  ["two tokens", "Bearer secret secret", "secret", false],
  ["no header", undefined, "secret", false],
  ["an empty bearer against an empty token", "Bearer ", "", false],
  ["no header against an empty token", undefined, "", false],
])("%s is answered as it should be", (_case, header, token, matches) => {
  expect(bearerMatches(header, token)).toBe(matches);
});
