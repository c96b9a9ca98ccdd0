/** Every limit of the surface, with what happens when it is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const limits = {
  /** one more is closed at once */
  connectionsMax: 1024,
  /** one RPC message; a larger one is refused */
  messageMaxBytes: 16 * mib,
  /** the body of /init and of /files/compose */
  jsonBodyMaxBytes: 2 * mib,
  headersMaxBytes: 32 * kib,
  /** an answer that its reader takes nothing of is cut off, at the latest after twice this */
  stallMaxMs: 120_000,
  shutdownMaxMs: 2000,
  /** what is still read of a request that is refused, so that its sender gets to read why; then it is cut off */
  refusedBodyMaxBytes: 8 * mib,
  refusedBodyMaxMs: 1000,

  /** between two events of a silent stream when the client asks for nothing else */
  keepaliveDefaultMs: 90_000,
  keepaliveMinMs: 1000,
  keepaliveMaxMs: 600_000,

  /** the life limit of a command that a client may ask for; more is taken for none */
  lifeMaxMs: 7 * 24 * 60 * 60 * 1000,
  tagMaxChars: 256,
  terminalSizeMax: 1000,
  /** input of one request to StreamInput that waits for the command; the client is held up at this */
  argsMax: 4000,

  /** polled watchers; the daemon has a limit for all that watch */
  watchersMax: 32,
  /** events that a polled watcher holds; the oldest are dropped for new ones */
  watcherEventsMax: 4096,
  /** a polled watcher that nobody asks is removed */
  watcherIdleMaxMs: 10 * 60 * 1000,

  /** entries of one ListDir; a larger answer is refused, since it has no pages */
  listEntriesMax: 100_000,
  listDepthMax: 32,

  uploadMaxBytes: 64 * 1024 * mib,
  /** of one multipart request */
  uploadFilesMax: 1000,
  /** an upload whose sender says nothing for this long is given up */
  uploadIdleMaxMs: 120_000,
  /** how much of an upload or download is in memory at a time */
  pieceBytes: 1 * mib,
  composeSourcesMax: 1000,

  pathMaxChars: 4096,
  metadataKeyMaxBytes: 246,
  /** names and values together, each name with its namespace */
  metadataMaxBytes: 4096,

  globalEnvMax: 512,
  globalEnvMaxBytes: 32 * kib,
  tokenMaxChars: 1024,

  /** accounts and groups are read from /etc again when the file has changed, and never more than this of it */
  accountFileMaxBytes: 1 * mib,
} as const;
