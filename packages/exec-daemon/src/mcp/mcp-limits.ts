/** Every limit on MCP servers and what they send, with what happens when it is reached. */
const kib = 1024;
const mib = 1024 * kib;

export const mcpLimits = {
  /** servers that are configured, of all sources; a load that would make more is refused */
  serversMax: 64,
  idMaxChars: 64,
  sourceMaxChars: 80,
  namesMaxChars: 512,
  /** the settings file and a plugin's manifest; a larger one isn't read */
  settingsMaxBytes: mib,

  /** until a server has answered `initialize`, when its configuration says nothing */
  startDefaultMs: 30_000,
  startMaxMs: 5 * 60_000,
  /** for one request without an answer or progress */
  callDefaultMs: 60_000,
  callMaxMs: 60 * 60_000,
  /** for one call in all, whatever progress it reports */
  callTotalMaxMs: 6 * 60 * 60_000,
  /** after a failed start further uses are refused for this long, doubled with each failure */
  retryFirstMs: 1000,
  retryMaxMs: 60_000,

  /** one message in either direction; the connection of a server that sends a larger one ends */
  messageMaxBytes: 8 * mib,
  /** what a server may send in a second, and how far it may run ahead; it isn't read any further until it fits again */
  messagesPerSecond: 500,
  messagesBurst: 2000,
  bytesPerSecond: 16 * mib,
  bytesBurst: 24 * mib,
  /** lines on standard output that are no message, in a row; after that many the connection ends */
  junkLinesMax: 1000,
  /** what waits to be taken by a server that doesn't read; beyond it the connection ends */
  unsentMaxBytes: 16 * mib,
  /** of its standard error the end is kept */
  logMaxBytes: 64 * kib,

  /** requests on their way to one server; one more is refused */
  callsMax: 64,
  /** progress that a caller hasn't taken yet; the oldest is dropped */
  progressMax: 64,
  argumentsMaxBytes: 4 * mib,
  listPagesMax: 100,
  /** tools, resources or prompts of one server; what follows is left out, which is said */
  listItemsMax: 2000,
  listMaxBytes: 8 * mib,
  textMaxChars: 2000,
  /** what a server says about itself to a model */
  instructionsMaxChars: 32_000,

  watchersMax: 32,
  /** changes that a watcher hasn't taken yet; one more ends its stream, and it asks again */
  watchQueueMax: 1024,

  /** the three stages of an end: input is closed, TERM, KILL. Together less than three seconds, with time to spare */
  endInputMs: 600,
  endTermMs: 700,
  endKillMs: 1000,
  endLookEveryMs: 40,
  /** how long whoever waits for a start waits beyond its deadline, so that they are told why it failed */
  startSlackMs: 3000,
  /** an HTTP server is told that its session is over */
  endSessionMs: 1000,

  /** an answer of an authorization server */
  loginAnswerMaxBytes: mib,
  loginRequestMaxMs: 20_000,
  /** a login that was begun can be finished for this long */
  loginPendingMs: 10 * 60_000,
  /** a token that ends within this time is renewed before it is used */
  tokenLeewayMs: 30_000,
} as const;
