/** Bounds of snapshots and of what is read back from a store, which may hold anything. */
const mebi = 1_048_576;

export const snapshotLimits = {
  /** files are kept in pieces of this size, so that a large one that changed a little is written a little */
  chunkBytes: mebi / 4,
  /** files of one snapshot */
  filesMax: 200_000,
  /** characters of a path below the data root */
  pathMaxChars: 1_024,
  /** a manifest as it is stored */
  manifestMaxBytes: 256 * mebi,
  /** the head as it is stored */
  headMaxBytes: 4 * mebi,
  /** changed pieces of one database that are held in memory while it is read; more go to the stage on disk */
  heldMaxBytes: 32 * mebi,
  /** a log that grew to this size while a database was read ends the reading; below what makes the host refuse changes */
  pinnedLogMaxBytes: 192 * mebi,
  /** readings of one file that is in motion before it is given up for this snapshot */
  readTriesMax: 4,
  /** tries to pin the databases of an agent between two changes of its store */
  pinTriesMax: 50,
  /** skipped files that a manifest names; the rest is only counted */
  skippedMax: 1_000,
  /** how often a head that others change is read again before a write is given up */
  headTriesMax: 5,
} as const;
