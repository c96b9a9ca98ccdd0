/** Bounds of the projections' work. A chunk is what is done between two looks at waiting searches. */
export const projectionLimits = {
  /** entries or events of one chunk */
  chunkRows: 500,
  /** characters of text after which a chunk ends, whatever its rows */
  chunkMaxChars: 1_048_576,
  /** rows that are removed in one chunk */
  chunkRemovals: 2_000,
  /** bytes of a journal under one mark: what is hashed again when it grows, and lost when one bit of it is wrong */
  markMaxBytes: 65_536,
  /** bytes of a journal that are compared in one chunk */
  verifyMaxBytes: 4 * 1_048_576,
  /** how long a search waits for what has just been committed, in `ms` */
  searchWaitMs: 100,
} as const;
