/** Why a terminal isn't read at the moment. It is read again when there is no reason left. */
import type { TerminalPipe } from "./terminal-backend.ts";

export type HoldReason = "screen" | "acks";

export interface ReadHolds {
  set(reason: HoldReason, isOn: boolean): void;
  /** Nothing holds it up, whatever was said. */
  drop(): void;
}

export function createReadHolds(pipe: () => Pick<TerminalPipe, "pause" | "resume">): ReadHolds {
  const reasons = new Set<HoldReason>();

  function set(reason: HoldReason, isOn: boolean): void {
    const wasHeld = reasons.size > 0;
    if (isOn) reasons.add(reason);
    else reasons.delete(reason);
    const isHeld = reasons.size > 0;
    if (isHeld && !wasHeld) pipe().pause();
    if (wasHeld && !isHeld) pipe().resume();
  }

  return {
    set,
    drop() {
      for (const reason of [...reasons]) set(reason, false);
    },
  };
}
