import { expect, test } from "vitest";
import { createStreamDecoder, unfinishedLength } from "./decode-output.ts";

const mixed = Buffer.from("aé你😀z\ufffd—你".repeat(3), "utf8");

test("a text that is split at any place comes out whole and isn't lossy", () => {
  for (let split = 0; split <= mixed.length; split += 1) {
    for (const second of [1, 2, 3, 7]) {
      const decoder = createStreamDecoder();
      const parts = [
        mixed.subarray(0, split),
        mixed.subarray(split, split + second),
        mixed.subarray(split + second),
      ];
      const text = parts.map((part) => decoder.decode(part)).join("") + decoder.flush();
      expect([split, text, decoder.lossy()]).toEqual([split, mixed.toString("utf8"), false]);
    }
  }
});

test("byte by byte, fifty thousand wide characters are exactly fifty thousand", () => {
  const decoder = createStreamDecoder();
  let count = 0;
  for (const byte of Buffer.from("你".repeat(50_000))) count += decoder.decode(Uint8Array.of(byte)).length;
  expect([count, decoder.flush(), decoder.lossy()]).toEqual([50_000, "", false]);
});

test("invalid bytes become the replacement character and are said to be lossy", () => {
  const cases: readonly [bytes: number[], text: string][] = [
    [[0x61, 0xff, 0x62], "a\ufffdb"],
    [[0x80], "\ufffd"],
    [[0xe4, 0xbd, 0x61], "\ufffda"],
    [[0xf0, 0x9f, 0x98], "\ufffd"],
    [[0xf8, 0x61], "\ufffda"],
    [[0x61, 0x00], "a\u2400"],
  ];
  for (const [bytes, text] of cases) {
    const decoder = createStreamDecoder();
    expect([bytes, decoder.decode(Uint8Array.from(bytes)) + decoder.flush(), decoder.lossy()]).toEqual([
      bytes,
      text,
      true,
    ]);
  }
});

test("the chunk's memory may be used again after the call", () => {
  const decoder = createStreamDecoder();
  const chunk = Buffer.from("你");
  const first = decoder.decode(chunk.subarray(0, 2));
  const last = Uint8Array.from(chunk.subarray(2));
  chunk.fill(0x61);
  expect(first + decoder.decode(last)).toBe("你");
});

test("only the beginning of a character counts as unfinished", () => {
  const cases: readonly [bytes: number[], length: number][] = [
    [[], 0],
    [[0x61], 0],
    [[0xc3], 1],
    [[0xc3, 0xa9], 0],
    [[0xe4, 0xbd], 2],
    [[0xf0, 0x9f, 0x98], 3],
    [[0x80, 0x80, 0x80], 0],
  ];
  for (const [bytes, length] of cases)
    expect([bytes, unfinishedLength(Uint8Array.from(bytes))]).toEqual([bytes, length]);
});
