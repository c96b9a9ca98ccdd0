/**
 * A random source that repeats itself for the same seed, so that a failing run can be run again.
 *
 * The generator is mulberry32: small, fast and even enough for choosing tests. Never use it for a secret.
 */
export interface SeededRandom {
  readonly seed: number;
  /** in [0, 1) */
  next(): number;
  /** a whole number in [from, to], both included */
  whole(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  /** lower-case letters and digits */
  word(length: number): string;
  bytes(length: number): Uint8Array;
  /** an independent source, so that drawing from one doesn't shift the other */
  fork(label: string): SeededRandom;
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const whole = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    seed,
    next,
    whole,
    chance: (probability) => next() < probability,
    pick: (items) => items[whole(0, items.length - 1)] ?? items[0],
    word: (length) => Array.from({ length }, () => letters[whole(0, letters.length - 1)]).join(""),
    bytes: (length) => Uint8Array.from({ length }, () => whole(0, 255)),
    fork: (label) => createSeededRandom(hashText(`${seed}/${label}`)),
  };
}

/** FNV-1a over UTF-16 units */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
