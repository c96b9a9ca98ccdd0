/**
 * Limits that both sides of the wire know. A limit that only one process needs lives beside its use.
 * Sizes are in bytes unless the name says otherwise.
 */
const mebibyte = 1024 * 1024;

export const limits = {
  /** the largest body of a command without an attachment */
  bodyMaxBytes: 64 * mebibyte,
  /** arrays and objects within each other in a command's body */
  bodyMaxDepth: 64,
  /** the prompt as JSON text: its entry must fit into one event frame */
  promptMaxBytes: 512 * 1024,
  /** clients refuse frames above 1 MiB; what else waits for a client needs its place below that, too */
  eventFrameMaxBytes: 896 * 1024,
  nonceMaxLength: 256,
  agentNameMaxLength: 200,
  agentDescriptionMaxLength: 20_000,
  deleteAgentsMaxIds: 1_000,
  attachmentsMaxPerPrompt: 64,
  attachmentPathMaxLength: 4_096,
  settingsListMaxItems: 1_000,
  /** the settings as JSON text: they are sent whole in one event frame */
  settingsMaxBytes: 256 * 1024,
  outlineMaxEntries: 1_000,
  searchQueryMaxLength: 4_096,
  searchHitsDefault: 50,
  searchHitsMax: 500,
  transcriptTailDefault: 500,
  transcriptTailMax: 5_000,
  /** how often the event stream says that it is alive, in `ms` */
  eventPingMs: 15_000,
  /** what the stream tells clients to wait before they connect again, in `ms` */
  eventRetryMs: 1_000,
} as const;
