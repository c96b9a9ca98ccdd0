import { expect, test } from "vitest";
import { negotiateEncoding } from "./negotiate-encoding.ts";

test.each([
  [undefined, "identity"],
  ["", "identity"],
  ["gzip", "gzip"],
  ["gzip, deflate", "gzip"],
  ["x-gzip", "gzip"],
  ["*", "gzip"],
  ["br", "identity"],
  ["gzip;q=0", "identity"],
  ["gzip;q=0.5, identity;q=0.8", "identity"],
  ["identity", "identity"],
  ["identity;q=0, gzip", "gzip"],
  ["identity;q=0", undefined],
  ["br, *;q=0", undefined],
  ["gzip;q=0, *;q=0", undefined],
])("for %j it is %s", (header, encoding) => {
  expect(negotiateEncoding(header)).toBe(encoding);
});
