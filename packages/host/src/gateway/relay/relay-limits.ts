/** What the relay to the box bears. Nothing is queued: what has no room is refused, and both ends wait for each other. */
export const relayLimits = {
  /** calls under way at once, streams among them */
  callsMax: 256,
  /** connections to terminals at once */
  terminalsMax: 64,
  /** what is read of a refusal by the terminals' port, in bytes */
  refusalMaxBytes: 16 * 1024,
  /** how long a client may take for what is left once its terminal's connection has ended, in `ms` */
  drainMaxMs: 5_000,
} as const;
