/**
 * The page that a test and a shimmed process share: which calls fail, how, and how many did. Its layout is told in
 * `disk-shim.c`. Changes take effect at once; the page cache is the same for both.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";

/** the kinds of calls that can fail, as the shim numbers them */
export const diskCalls = {
  open: 1,
  write: 2,
  truncate: 4,
  sync: 8,
  rename: 16,
  unlink: 32,
  mkdir: 64,
} as const;
export const everyDiskCall = Object.values(diskCalls).reduce((sum, bit) => sum + bit, 0);

/** what a disk says, with the number that the kernel has for it */
export const diskErrors = { ENOSPC: 28, EIO: 5, EROFS: 30, EDQUOT: 122 } as const;
export type DiskError = keyof typeof diskErrors;

export interface Fault {
  /** a sum of `diskCalls` */
  readonly calls: number;
  readonly error: DiskError;
  /** so many calls go well first */
  readonly skip: number;
  readonly times: number;
  /** the first write that fails has written its first half */
  readonly half: boolean;
}

export interface FaultControl extends Disposable {
  arm(fault: Fault): void;
  disarm(): void;
  /** calls that failed since the fault was armed */
  failed(): number;
}

const pageBytes = 4_096;
const failedAt = 24;

export function createFaultControl(path: string): FaultControl {
  const file = openSync(path, "w+", 0o600);
  const set = (words: readonly number[]) => {
    const page = Buffer.alloc(pageBytes);
    for (const [at, word] of words.entries()) page.writeUInt32LE(word, at * 4);
    writeSync(file, page, 0, pageBytes, 0);
  };
  set([]);
  return {
    arm: ({ calls, error, skip, times, half }) =>
      set([calls, diskErrors[error], skip, times, half ? 1 : 0, 0, 0]),
    // The counters stay: what has failed is asked for afterwards.
    disarm: () => void writeSync(file, Buffer.alloc(4), 0, 4, 0),
    failed() {
      const word = Buffer.alloc(4);
      readSync(file, word, 0, 4, failedAt);
      return word.readUInt32LE();
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}
