/** Bounds of what an archive may hold. It comes from anywhere, so each is checked before anything is made of it. */
const mebi = 1_048_576;

export const archiveLimits = {
  /** members of one archive */
  membersMax: 100_000,
  /** characters of a file's path below the agent's folder; what the format's name field takes with `files/` before it */
  pathMaxChars: 94,
  /** one member; an archive is read a member at a time */
  memberMaxBytes: 64 * mebi,
  /** one file of the agent's folder */
  fileMaxBytes: 32 * mebi,
  /** files of the agent's folder, in number and together */
  filesMax: 10_000,
  filesMaxBytes: 1_024 * mebi,
  /** rows are gathered to members of about this size */
  rowsMemberBytes: 4 * mebi,
  /** everything, unpacked */
  totalMaxBytes: 16 * 1_024 * mebi,
  /** unpacked over packed, beyond the first few MiB: text doesn't come to a quarter of it */
  ratioMax: 250,
  ratioFreeBytes: 64 * mebi,
  /** the highest number of an entry; the host goes on above it */
  seqMax: 2 ** 46,
} as const;
