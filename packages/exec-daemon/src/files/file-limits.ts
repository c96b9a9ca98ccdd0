/** The limits of the file operations beyond those that the whole daemon shares, with what happens when one is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const fileLimits = {
  pathMaxBytes: 4096,
  /** links that one path may lead through; more is `file/denied` */
  linksMax: 40,
  /** folders above one another; a deeper tree is refused, since each level holds a descriptor */
  treeDepthMax: 256,
  /** entries that one call copies or removes; with more it stops, and says so */
  treeEntriesMax: 1_000_000,
  /** after this many entries others get their turn */
  turnEntries: 256,

  /** entries of one message of a stream */
  streamEntries: 500,
  /** streams to one file process at the same time; one more is refused with `exec/too-many` */
  streamsMax: 64,
  /** without any request the file process ends after this time, and its memory with it */
  idleMaxMs: 5 * 60_000,

  uploadIdMaxChars: 256,
  /** an upload that nothing was added to for this long is removed by the next one into its folder */
  uploadStaleMs: 24 * 60 * 60 * 1000,

  /** folders that one watch looks at, and all watches together; more is `file/watch-limit` */
  watchFoldersMax: 20_000,
  watchFoldersAllMax: 50_000,
  /** entries that one watch remembers, so that it can tell what has changed */
  watchEntriesMax: 500_000,
  /** changes that wait for a slow reader; then they are dropped and it gets an overflow */
  watchQueueMax: 10_000,
  watchIgnoreMax: 256,
  /** a folder's changes are gathered this long before it is looked at */
  watchSettleMs: 25,
  /** how often it is looked whether the folder is still there; nobody tells of that while we hold it open */
  watchCheckMs: 1000,
  watchKeepaliveMs: 5000,

  diffQuestionsMax: 32,
  diffFilesMax: 5000,
  diffPatchMaxBytes: 4 * mib,
  /** a file larger than this is compared by its digest alone */
  diffFileMaxBytes: mib,
  /** untracked files that get a patch of their own */
  diffUntrackedMax: 200,
  gitMaxMs: 20_000,
  gitOutputMaxBytes: 8 * mib,

  patchMaxBytes: 8 * mib,
  patchFilesMax: 1000,

  /** all of one checkpoint, hash or difference against a checkpoint; longer is `file/too-large` */
  treeMaxMs: 60_000,
  /** bytes of the files of one checkpoint, each of which is read for its digest; more is `file/too-large` */
  checkpointMaxBytes: 8 * 1024 * mib,
  /** checkpoints that wait until another one has kept its contents; one more is `exec/too-many` */
  checkpointsWaitingMax: 8,
  /** files and links of one checkpoint; more is `file/too-large` */
  checkpointEntriesMax: 50_000,
  checkpointsMax: 32,
  /** all contents of all checkpoints; a file that has no room is kept by its digest alone */
  checkpointsMaxBytes: 512 * mib,

  artifactsMax: 1000,
  artifactMaxBytes: 2048 * mib,
  artifactsMaxBytes: 4096 * mib,
  /** bytes at a time between a store and the box */
  transferPieceBytes: mib,
} as const;
