/** Every limit of the daemon and its keepers, with what happens when it is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const limits = {
  /** executions that run at the same time; one more is refused with `exec/too-many` */
  runningMax: 256,
  /** finished executions kept; the oldest are removed */
  finishedMax: 1000,
  /** a finished execution is kept this long */
  finishedMaxAgeMs: 7 * 24 * 60 * 60 * 1000,
  /** what finished executions have printed and were given, in all; the oldest lose theirs first and keep their records */
  spoolsMaxBytes: 1024 * mib,
  /** how often old executions are looked for */
  retentionEveryMs: 60_000,

  /** one segment of a spool */
  segmentMaxBytes: mib,
  /** segments kept after the first, which always stays; the oldest of these are dropped and readers get a gap */
  tailSegmentsMax: 7,
  /** a command waits this long for a lossless reader that doesn't move; longer than a stalled one is let live */
  pinMaxMs: 15_000,
  /** standard input of one execution, in all; more is refused */
  stdinMaxBytes: 64 * mib,

  /** after TERM for a life limit, before KILL */
  killGraceMs: 2000,
  /** output may still be on its way when the exit is known; it is waited for this long, so that it comes first */
  settleMaxMs: 50,
  /** after the exit: how long an output stream that something else holds open is read before `closed` */
  drainMaxMs: 2000,
  /** the record of an end that can't be written, for instance on a full disk, is tried again this often and this long */
  recordRetryEveryMs: 500,
  recordRetryMaxMs: 60 * 60 * 1000,
  /** the same, when its folder is gone */
  folderGoneMaxMs: 20_000,
  /** how often a keeper looks whether its folder was removed: then its command is ended, for nobody will ask for it */
  folderLookEveryMs: 5_000,
  /** the records of an end are made durable when their keeper has nothing to do for the first, or at the latest after the second */
  endSyncIdleMs: 100,
  endSyncMaxMs: 1000,
  /** after `closed`: how long such a stream is still emptied, so that its writer isn't killed by SIGPIPE */
  leftOpenMaxMs: 24 * 60 * 60 * 1000,

  /** keepers that wait for work */
  sparesMin: 2,
  sparesMax: 6,
  /** keepers that start at the same time; further ones wait */
  keepersStartingMax: 4,
  /** a keeper must say that it is ready, and then that the command runs, within this time */
  keeperReadyMaxMs: 20_000,
  startMaxMs: 20_000,

  /** how often keepers that aren't children of this daemon are looked at */
  adoptedCheckEveryMs: 500,

  attachesMax: 512,
  attachPageBytes: 256 * kib,
  keepaliveEveryMs: 5000,
  /** a caller that takes nothing of what waits for it is cut off, at the latest after twice this */
  stallMaxMs: 5000,
  readPageMaxBytes: mib,
  waitMaxMs: 60_000,

  /** one request, and so one written file */
  requestMaxBytes: 24 * mib,
  connectionsMax: 1024,
  /** how long a connection may take to say what it wants; one that says nothing would hold a place for ever */
  headersMaxMs: 5000,
  headersLookEveryMs: 1000,
  /** running calls end by themselves within this time at shutdown */
  shutdownMaxMs: 3000,

  commandMaxBytes: 96 * kib,
  argsMax: 4096,
  envMaxBytes: 64 * kib,
  labelsMax: 16,
  labelsMaxBytes: 192 * kib,
  idMaxChars: 512,
  rootsMax: 64,

  /** file operations on their way to the process of another account; one more is refused with `exec/too-many` */
  fileRequestsMax: 64,
  fileReadMaxBytes: 4 * mib,
  fileWriteMaxBytes: 16 * mib,
  /** files up to this size get a digest when they are read */
  fileHashMaxBytes: 64 * mib,
  /** bytes looked at to tell text from binary */
  binaryProbeBytes: 8 * kib,
  listEntriesMax: 10_000,
  listDepthMax: 16,
  /** journaled file writes kept; the oldest are forgotten */
  writeJournalMax: 4096,

  searchMaxMs: 20_000,
  searchesMax: 4,
  searchMatchesMax: 2000,
  searchFilesMax: 5000,
  /** a longer line is cut */
  searchLineMaxChars: 1000,
  searchOutputMaxBytes: 8 * mib,
} as const;
