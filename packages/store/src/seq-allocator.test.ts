import { expect, test } from "vitest";
import { createSeqAllocator, seqBlockSize } from "./seq-allocator.ts";

test("numbers rise by one and go on after what was reserved before", () => {
  const seq = createSeqAllocator({ reservedThrough: 4096, reserve: () => {} });
  expect(seq.last()).toBe(4096);
  expect([seq.next(), seq.next(), seq.next()]).toEqual([4097, 4098, 4099]);
  expect(seq.last()).toBe(4099);
});

test("a number is given out only inside a reserved block, and blocks are rare", () => {
  const reserved: number[] = [];
  const seq = createSeqAllocator({ reservedThrough: 0, reserve: (through) => void reserved.push(through) });
  for (let count = 0; count < seqBlockSize * 2 + 1; count += 1) {
    expect(seq.next()).toBeLessThanOrEqual(reserved.at(-1) ?? 0);
  }
  expect(reserved).toEqual([seqBlockSize, seqBlockSize * 2, seqBlockSize * 3]);
});

test("a failed reservation lets no number out", () => {
  let broken = true;
  const seq = createSeqAllocator({
    reservedThrough: 0,
    reserve() {
      if (broken) throw new Error("disk");
    },
  });
  expect(() => seq.next()).toThrow("disk");
  expect(seq.last()).toBe(0);
  broken = false;
  expect(seq.next()).toBe(1);
});

test("what was ensured needs no reservation any more", () => {
  let reservations = 0;
  const seq = createSeqAllocator({
    reservedThrough: 0,
    reserve() {
      reservations += 1;
    },
  });
  seq.ensure(seqBlockSize + 10);
  expect(reservations).toBe(1);
  for (let count = 0; count < seqBlockSize + 10; count += 1) seq.next();
  expect(reservations).toBe(1);
});

test("numbers that were skipped, also while a block is being reserved, are never given out", () => {
  const ends: number[] = [];
  const seq = createSeqAllocator({
    reservedThrough: 10,
    reserve(through) {
      ends.push(through);
      if (ends.length === 1) seq.skipTo(1_000_000);
    },
  });
  expect(seq.next()).toBe(1_000_001);
  expect(ends.at(-1)).toBeGreaterThanOrEqual(1_000_001);
  seq.skipTo(5);
  expect(seq.next()).toBe(1_000_002);
});
