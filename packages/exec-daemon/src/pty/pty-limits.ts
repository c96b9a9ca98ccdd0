/** Every limit of terminals, with what happens when it is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const ptyLimits = {
  /** terminals that run at the same time; one more is refused with `exec/too-many` */
  runningMax: 64,
  /** ended terminals that can still be looked at; the oldest are forgotten */
  endedMax: 32,
  /** an ended terminal is forgotten after this */
  endedMaxAgeMs: 10 * 60_000,
  /** connections to one terminal; one more is refused with `exec/too-many` */
  viewersMax: 32,

  /** output kept of one terminal; a reader that is further behind gets a picture of the screen instead */
  ringMaxBytes: mib,
  ringBlockBytes: 64 * kib,
  /** lines above the screen that the picture holds */
  scrollbackLines: 1000,
  /** a picture that is larger is made again with fewer lines above the screen */
  snapshotMaxChars: 4 * mib,
  /** a picture that isn't there by then is given up, and the ring alone is shown */
  snapshotMaxMs: 10_000,
  /** bytes on their way to the screen's worker; above it the terminal is not read */
  mirrorBehindMaxBytes: mib,
  mirrorResumeBytes: 256 * kib,
  /** output goes to the worker after this time, or when it is so much */
  mirrorBatchMs: 16,
  mirrorBatchBytes: 64 * kib,

  /** bytes that the writer hasn't acknowledged; above it the terminal is not read */
  unackedMaxBytes: 100_000,
  unackedResumeBytes: 5_000,
  /** a writer that acknowledges nothing for this long no longer holds up the terminal */
  ackStallMaxMs: 30_000,
  /** bytes in the socket of one connection; above it nothing more is sent, the reader's place in the ring waits */
  socketBufferMaxBytes: 256 * kib,
  outputFrameMaxBytes: 64 * kib,

  /** input on its way to one terminal; above it the connection isn't read */
  inputPendingMaxBytes: 4 * mib,
  inputResumeBytes: mib,
  /** input that the terminal takes nothing of for this long closes the connection with 1013 */
  inputStallMaxMs: 5 * 60_000,
  /** a full terminal is tried again after the first, then ever later up to the last */
  inputRetryMinMs: 1,
  inputRetryMaxMs: 40,
  /** one message of a client, with its channel byte */
  messageMaxBytes: mib + kib,
  /** messages that mean nothing; the next one closes the connection */
  badMessagesMax: 16,

  pingEveryMs: 5_000,
  /** a peer that answers no ping, or takes no byte of what waits for it, is cut off after this */
  peerSilentMaxMs: 12_000,
  /** credentials must have come by then */
  authMaxMs: 10_000,
  /** connections without credentials yet; one more is refused */
  unauthenticatedMax: 32,
  connectionsMax: 512,

  ticketTtlMs: 30_000,
  ticketsMax: 256,

  columnsMax: 1000,
  rowsMax: 1000,
  /** sizes that come within this are one */
  resizeCoalesceMs: 20,

  /** default time that a terminal lives without a connection, when it is to be kept */
  idleGraceKeepMs: 24 * 60 * 60_000,
  /** the same, when it is to end with its client: long enough for a reconnect */
  idleGraceEndMs: 60_000,
  idleGraceMaxMs: 30 * 24 * 60 * 60_000,
  /** after HUP, before KILL */
  endGraceMs: 2_000,
  /** at shutdown: from KILL to giving up */
  closeMaxMs: 3_000,

  bodyMaxBytes: 192 * kib,
  titleMaxChars: 512,
} as const;
