/** Time and ids as parameters, so that a test can drive both. */
export interface Clock {
  /** wall clock, in `ms` since 1970 */
  nowMs(): number;
  /** resolves after `ms`, or at once when `signal` aborts; never rejects */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface IdSource {
  /** a fresh random id, a uuid in production */
  next(): string;
}
