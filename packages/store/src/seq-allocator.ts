/**
 * Gives out the host-wide `seq`.
 *
 * 1. A `seq` is given out once in the life of a data root. Blocks are reserved durably before their first number is
 *    used, and a start goes on at the end of the last reserved block, so a crash wastes numbers but repeats none.
 * 2. Transactions run synchronously on one thread and take their numbers while they run, so the order of numbers is the
 *    order of commits over all agents. A rolled back change leaves a gap.
 */
import { invariant } from "@sand/protocol";

export interface SeqAllocator {
  /** the next number; may reserve a block first, and throws when that fails */
  next(): number;
  /** makes sure that `count` numbers can be had without reserving */
  ensure(count: number): void;
  /** goes on above `through`; for an index that was built again, whose cursors begin there */
  skipTo(through: number): void;
  /** the highest number given out, or the end of what earlier runs may have used */
  last(): number;
}

/** how many numbers one durable write reserves */
export const seqBlockSize = 4_096;

export interface SeqAllocatorDeps {
  /** where the numbers start: all up to it may be in use */
  readonly reservedThrough: number;
  /** returns only when the new end is on disk */
  readonly reserve: (through: number) => void;
}

export function createSeqAllocator(deps: SeqAllocatorDeps): SeqAllocator {
  let last = deps.reservedThrough;
  let reserved = deps.reservedThrough;

  function ensure(count: number): void {
    // Reserving may open the index anew, and then the numbers may have been skipped on meanwhile.
    while (last + count > reserved) {
      const through = last + Math.max(count, seqBlockSize);
      invariant(Number.isSafeInteger(through), "a seq is a safe integer");
      // Raised only afterwards: a failed reservation must not let a number out.
      deps.reserve(through);
      reserved = Math.max(reserved, through);
    }
  }

  return {
    next() {
      ensure(1);
      last += 1;
      return last;
    },
    ensure,
    skipTo(through) {
      last = Math.max(last, through);
      reserved = Math.max(reserved, last);
    },
    last: () => last,
  };
}
