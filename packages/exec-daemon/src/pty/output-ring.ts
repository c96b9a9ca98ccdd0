/**
 * The last output of one terminal, by absolute offset. Readers keep their own place; when it has been overwritten they
 * are told so, and nobody else is.
 */
export interface OutputRing {
  /** offset of the oldest byte that is kept */
  readonly start: number;
  /** offset behind the newest byte */
  readonly end: number;
  append(bytes: Buffer): void;
  /** Up to `maxBytes` from `offset` on; undefined when that byte is no longer kept or doesn't exist yet. */
  read(offset: number, maxBytes: number): Buffer | undefined;
  /** Goes on at a later offset; what is kept is forgotten, because what lies between is lost. */
  jump(offset: number): void;
  /** From here on the terminal has another size. */
  markResize(): void;
  /** Whether a screen that was right at `offset` needs nothing but the bytes since: the size is still the same. */
  isOneSizeSince(offset: number): boolean;
}

export interface RingLimits {
  readonly maxBytes: number;
  readonly blockBytes: number;
}

export function createOutputRing({ maxBytes, blockBytes }: RingLimits): OutputRing {
  const blocks: Buffer[] = [];
  /** bytes used of the last block; the others are full */
  let used = blockBytes;
  let end = 0;
  let resizedAt = -1;

  const start = (): number => end - (blocks.length === 0 ? 0 : (blocks.length - 1) * blockBytes + used);

  function append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (used === blockBytes) {
        // The oldest block is used again, so a flood makes no garbage.
        const isFull = blocks.length * blockBytes >= maxBytes;
        blocks.push((isFull ? blocks.shift() : undefined) ?? Buffer.allocUnsafe(blockBytes));
        used = 0;
      }
      const block = blocks[blocks.length - 1];
      if (block === undefined) return;
      const taken = bytes.copy(block, used, at, at + blockBytes - used);
      used += taken;
      at += taken;
      end += taken;
    }
  }

  function read(offset: number, wanted: number): Buffer | undefined {
    const first = start();
    if (offset < first || offset > end) return undefined;
    const until = Math.min(end, offset + wanted);
    const parts: Buffer[] = [];
    for (let at = offset; at < until; ) {
      const index = Math.floor((at - first) / blockBytes);
      const within = (at - first) % blockBytes;
      const taken = Math.min(until - at, blockBytes - within);
      parts.push(blocks[index]?.subarray(within, within + taken) ?? Buffer.alloc(0));
      at += taken;
    }
    // A copy: the block may be used again while the bytes are on their way.
    return Buffer.concat(parts);
  }

  return {
    get start() {
      return start();
    },
    get end() {
      return end;
    },
    append,
    read,
    jump(offset) {
      blocks.length = 0;
      used = blockBytes;
      end = offset;
    },
    markResize() {
      resizedAt = end;
    },
    isOneSizeSince: (offset) => offset > resizedAt,
  };
}
