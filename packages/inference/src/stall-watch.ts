/**
 * Ends a stream that has gone silent, by aborting its request.
 *
 * Time counts only while we wait for the provider (`expectWithin` … `arrived`): a consumer that takes long over a
 * part must not make a healthy stream look dead. `stop` must be called, and waits until the watch has ended.
 */
import type { Clock } from "@sand/protocol";

export interface StallWatch {
  /** aborts when the expected thing didn't come in time */
  readonly signal: AbortSignal;
  /** what was waited for in vain */
  readonly expired: string | undefined;
  expectWithin(ms: number, what: string): void;
  arrived(): void;
  stop(): Promise<void>;
}

/** a reason that is made once: the one that a signal makes by itself carries a stack */
const over = new Error("the watch is over");

/** `napMs` is how long the watch may sleep while nothing is expected; no expectation may be shorter. */
export function startStallWatch(clock: Clock, napMs: number): StallWatch {
  const stalled = new AbortController();
  const stopped = new AbortController();
  let expected: { readonly untilMs: number; readonly what: string } | undefined;
  let expired: string | undefined;

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      const leftMs = expected === undefined ? napMs : expected.untilMs - clock.nowMs();
      if (expected !== undefined && leftMs <= 0) {
        expired = expected.what;
        stalled.abort();
        return;
      }
      await clock.sleep(Math.min(leftMs, napMs), stopped.signal);
    }
  }
  const watching = watch();

  return {
    signal: stalled.signal,
    get expired() {
      return expired;
    },
    expectWithin(ms, what) {
      expected = { untilMs: clock.nowMs() + ms, what };
    },
    arrived() {
      expected = undefined;
    },
    async stop() {
      stopped.abort(over);
      await watching;
    },
  };
}
