import { expect, test } from "vitest";
import { looksBinary } from "./looks-binary.ts";

test.each([
  ["nothing", [], false],
  ["plain text", [0x61, 0x0a], false],
  ["a character cut at the end", [0x61, 0xe4, 0xbd], false],
  ["a NUL", [0x61, 0x00], true],
  ["bytes that are no UTF-8", [0xff, 0x61, 0x61, 0x61], true],
])("%s", (_name, bytes, isBinary) => {
  expect(looksBinary(new Uint8Array(bytes))).toBe(isBinary);
});
