/** Named limits of one model stream. No provider library ends a silent or an endless stream by itself, so we do. */
export interface StreamLimits {
  /** from the request to the first chunk, in `ms`; a long prompt may take a provider a minute or two */
  readonly firstTokenMs: number;
  /** between two chunks, in `ms` */
  readonly idleMs: number;
  /** the whole stream, in `ms` */
  readonly totalMs: number;
  /** from the finish to the end of the stream, where the usage comes, in `ms` */
  readonly closeGraceMs: number;
  /** characters of text, reasoning and arguments together */
  readonly outputMaxChars: number;
  readonly callsMax: number;
}

export const streamLimits: StreamLimits = {
  firstTokenMs: 180_000,
  idleMs: 90_000,
  totalMs: 3_600_000,
  closeGraceMs: 5_000,
  outputMaxChars: 8 * 1024 * 1024,
  callsMax: 128,
};

/** tokens of an answer, where the wire format wants a number and nobody named one */
export const maxOutputTokensDefault = 32_000;

/** characters of one event of a stream */
export const eventMaxChars = 8 * 1024 * 1024;

/** bytes of a refusal that are read for its reason */
export const refusalMaxBytes = 256 * 1024;

/** longest wait that a provider may ask for, in `ms`; a wish beyond it is cut down to it */
export const retryAfterMaxMs = 300_000;

/** characters of a provider's own message that we pass on */
export const messageMaxChars = 300;

/** chunks of an unknown kind that are kept with a step, and the characters of each */
export const unknownChunksMax = 8;
export const unknownChunkMaxChars = 4_096;
