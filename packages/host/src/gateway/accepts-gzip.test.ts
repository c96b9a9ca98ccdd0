import { expect, test } from "vitest";
import { acceptsGzip } from "./accepts-gzip.ts";

test.each([
  ["gzip", true],
  ["deflate, GZIP;q=0.5, br", true],
  ["gzip;q=0", false],
  ["gzip; q=0.000", false],
  ["identity", false],
  ["xgzip", false],
  ["", false],
  [undefined, false],
])("%s allows gzip: %s", (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
