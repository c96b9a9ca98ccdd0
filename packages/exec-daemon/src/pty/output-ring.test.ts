import { expect, test } from "vitest";
import { createOutputRing } from "./output-ring.ts";

const small = { maxBytes: 12, blockBytes: 4 };

function filled(text: string) {
  const ring = createOutputRing(small);
  ring.append(Buffer.from(text));
  return ring;
}

test("an offset that is kept gives exactly the bytes from there, up to the limit", () => {
  const ring = filled("abcdefgh");
  expect(ring.read(2, 3)?.toString()).toBe("cde");
  expect(ring.read(5, 100)?.toString()).toBe("fgh");
  expect(ring.read(8, 100)?.toString()).toBe("");
});

test("the oldest bytes are overwritten, and their offsets answer undefined", () => {
  const ring = filled("abcdefghijklmnop");
  expect([ring.start, ring.end]).toEqual([4, 16]);
  expect(ring.read(3, 1)).toBeUndefined();
  expect(ring.read(4, 100)?.toString()).toBe("efghijklmnop");
});

test("an offset that doesn't exist yet answers undefined", () => {
  expect(filled("abc").read(4, 1)).toBeUndefined();
});

test("what was read stays as it was when its place is used again", () => {
  const ring = filled("abcdefghijkl");
  const kept = ring.read(0, 4);
  ring.append(Buffer.from("MNOPQRST"));
  expect(kept?.toString()).toBe("abcd");
});

test("a jump forgets what was kept, and goes on at the new offset", () => {
  const ring = filled("abcdef");
  ring.jump(100);
  ring.append(Buffer.from("xyz"));
  expect([ring.start, ring.end, ring.read(5, 1), ring.read(100, 9)?.toString()]).toEqual([
    100,
    103,
    undefined,
    "xyz",
  ]);
});

test("every way to cut a text into appends gives the same ring", () => {
  const text = "the quick brown fox jumps";
  for (let size = 1; size < text.length; size += 1) {
    const ring = createOutputRing(small);
    for (let at = 0; at < text.length; at += size) ring.append(Buffer.from(text.slice(at, at + size)));
    expect(ring.read(ring.start, 100)?.toString()).toBe(text.slice(ring.start));
    expect(ring.end).toBe(text.length);
  }
});

test("a place at a change of size, or before it, is not of one size with the rest", () => {
  expect(filled("abc").isOneSizeSince(0)).toBe(true);
  const ring = filled("abc");
  ring.markResize();
  ring.append(Buffer.from("def"));
  expect([2, 3, 4].map((offset) => ring.isOneSizeSince(offset))).toEqual([false, false, true]);
});
