/** The waits of an upgrade. They add up to less than a client's patience with a busy box. */
export const upgradeLimits = {
  /** how long turns may take to reach a boundary, in `ms`; those that need longer run on and resume by their markers */
  quiesceMaxMs: 20_000,
  /** a host that was prepared and that nobody replaces goes on by itself after this time, in `ms` */
  followUpMaxMs: 60_000,
  /** how long a replacement asks a holder that doesn't answer, or still quiesces, in `ms` */
  askMaxMs: 45_000,
  /** how long a replacement waits for the lock of a holder that was asked to end, in `ms` */
  giveWayMaxMs: 30_000,
  /** between two looks at the lock, in `ms` */
  lookEveryMs: 25,
  /** how long one answer of the holder may take, in `ms` */
  answerMaxMs: 5_000,
  /** how much of an answer is read, in bytes */
  answerMaxBytes: 65_536,
} as const;
