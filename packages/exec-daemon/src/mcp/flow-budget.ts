/**
 * How much of a server's talk is taken in a time. What was taken beyond it is a debt, and nothing more is read until it
 * is paid, so the server waits on its pipe and the daemon's other callers don't.
 */
export interface FlowBudget {
  /** Counts what was taken. Returns how long to stop reading, in `ms`; 0 is not at all. */
  take(messages: number, bytes: number): number;
}

export interface FlowLimits {
  readonly messagesPerSecond: number;
  readonly messagesBurst: number;
  readonly bytesPerSecond: number;
  readonly bytesBurst: number;
}

export function createFlowBudget(limits: FlowLimits, now: () => number): FlowBudget {
  let messagesLeft = limits.messagesBurst;
  let bytesLeft = limits.bytesBurst;
  let lastMs = now();

  return {
    take(messages, bytes) {
      const nowMs = now();
      const seconds = Math.max(0, nowMs - lastMs) / 1000;
      lastMs = nowMs;
      messagesLeft =
        Math.min(limits.messagesBurst, messagesLeft + seconds * limits.messagesPerSecond) - messages;
      bytesLeft = Math.min(limits.bytesBurst, bytesLeft + seconds * limits.bytesPerSecond) - bytes;
      const waitSeconds = Math.max(
        -messagesLeft / limits.messagesPerSecond,
        -bytesLeft / limits.bytesPerSecond,
        0,
      );
      return Math.ceil(waitSeconds * 1000);
    },
  };
}
