/**
 * Who may write to a terminal: at most one at a time, and only it slows the terminal down. Taking it from somebody is
 * told to both, and only done when it is asked for.
 */
import { createAckGate } from "./ack-gate.ts";

export interface WriterLease<T> {
  readonly holder: T | undefined;
  /** False when another holds it and `takeover` isn't given. `acked`: the output that the new one has seen. */
  take(who: T, acked: number, takeover: boolean): boolean;
  release(who: T): void;
  acknowledge(who: T, offset: number): void;
  /** Output has come. */
  update(): void;
  close(): void;
}

export interface WriterLeaseDeps<T> {
  readonly end: () => number;
  /** the writer is so far behind that the terminal should not be read, or no longer */
  readonly onShut: (isShut: boolean) => void;
  readonly onChange: (holder: T | undefined) => void;
  readonly onTaken: (from: T) => void;
}

export function createWriterLease<T>(deps: WriterLeaseDeps<T>): WriterLease<T> {
  let held: { readonly who: T; acked: number } | undefined;
  const gate = createAckGate(deps.onShut);
  const update = (): void => gate.update(deps.end(), held?.acked);

  function set(next: typeof held): void {
    held = next;
    update();
    deps.onChange(held?.who);
  }

  return {
    get holder() {
      return held?.who;
    },
    take(who, acked, takeover) {
      const before = held?.who;
      if (before === who) return true;
      if (before !== undefined && !takeover) return false;
      set({ who, acked });
      if (before !== undefined) deps.onTaken(before);
      return true;
    },
    release(who) {
      if (held?.who === who) set(undefined);
    },
    acknowledge(who, offset) {
      if (held?.who !== who || offset <= held.acked) return;
      held.acked = offset;
      gate.hear();
      update();
    },
    update,
    close: () => gate.close(),
  };
}
