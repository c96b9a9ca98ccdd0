/** Every limit on session shells, their state and the files of background commands, with what happens when it is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const shellLimits = {
  /** sessions at the same time; one more is refused with `exec/too-many` */
  sessionsMax: 128,
  /** an idle session that wasn't used for this long is ended when another one is made */
  idleMaxMs: 7 * 24 * 60 * 60 * 1000,
  sessionIdMaxChars: 128,
  /** what a command leaves in its shell; more isn't kept, and the next command begins as that one did */
  stateMaxBytes: 4 * mib,
  recordsMax: 20_000,
  /** names that a caller wants to be unset */
  unsetMax: 1024,
  /** calls that wait for their turn in one session; one more is refused with `exec/session-busy` */
  waitersMax: 64,
  waitMaxMs: 60_000,
  /** for the start files of a login shell; after it the session begins without them */
  loginMaxMs: 10_000,
  /** what they left is used again for this long, unless one of the files changes */
  loginMaxAgeMs: 10 * 60_000,
  /** how long what runs in a session may take to end by itself, and then how long its end is waited for */
  endGraceMs: 2000,
  endMaxMs: 5000,
  endLookEveryMs: 25,
} as const;

export const terminalFileLimits = {
  /** of one file; from its middle the output is dropped, and the file says how much */
  fileMaxBytes: mib,
  /** what stays of the beginning when output is dropped */
  headMaxBytes: 128 * kib,
  /** how often new output is written, and how much of it at most; a faster command's is dropped from the spool */
  writeEveryMs: 100,
  pieceMaxBytes: 256 * kib,
  /** files; the oldest of finished commands are removed */
  filesMax: 256,
  /** of the command in the header */
  commandMaxBytes: 8 * kib,
} as const;

export const tmuxLimits = {
  sessionsMax: 64,
  nameMaxChars: 64,
  /** for one question to tmux */
  askMaxMs: 10_000,
  answerMaxBytes: mib,
} as const;
