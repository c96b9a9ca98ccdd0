/**
 * Whether a terminal may be read, as far as its writer is concerned: not while it is behind by more than the limit, and
 * then not before it has nearly caught up. A writer that acknowledges nothing at all for too long holds up nobody any
 * more, until it acknowledges again.
 */
import { ptyLimits } from "./pty-limits.ts";

export interface AckGate {
  /** Output has come, or another writer, who has seen all up to `acked`; undefined is nobody. */
  update(end: number, acked: number | undefined): void;
  /** The writer has acknowledged something. */
  hear(): void;
  close(): void;
}

export function createAckGate(onChange: (isShut: boolean) => void): AckGate {
  let isShut = false;
  let isStalled = false;
  let timer: NodeJS.Timeout | undefined;
  let last: { end: number; acked: number | undefined } = { end: 0, acked: undefined };

  function look(): void {
    const behind = last.acked === undefined || isStalled ? 0 : last.end - last.acked;
    const next = behind > (isShut ? ptyLimits.unackedResumeBytes : ptyLimits.unackedMaxBytes);
    if (next === isShut) return;
    isShut = next;
    arm();
    onChange(isShut);
  }

  function arm(): void {
    clearTimeout(timer);
    timer = isShut ? setTimeout(stall, ptyLimits.ackStallMaxMs) : undefined;
    timer?.unref();
  }

  function stall(): void {
    isStalled = true;
    look();
  }

  return {
    update(end, acked) {
      if (last.acked === undefined || acked === undefined) isStalled = false;
      last = { end, acked };
      look();
    },
    hear() {
      isStalled = false;
      if (isShut) arm();
    },
    close: () => clearTimeout(timer),
  };
}
