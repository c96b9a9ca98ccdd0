/**
 * Passes output on to people while a command runs. It is transient and safe to lose, so a flood is thinned: after a
 * burst only so many bytes a second go out, and what was left out is counted and said.
 */
import type { Clock } from "@sand/protocol";
import { takeFitting } from "./cut-text.ts";
import { liveBurstMaxBytes, liveBytesPerSecond } from "./limits.ts";
import { utf8Length } from "./safe-text.ts";

export interface LiveOutput {
  show(text: string): void;
}

export function createLiveOutput(clock: Pick<Clock, "nowMs">, onOutput: (text: string) => void): LiveOutput {
  let allowance = liveBurstMaxBytes;
  let refilledAtMs = clock.nowMs();
  let hiddenBytes = 0;

  function refill(): void {
    const nowMs = clock.nowMs();
    allowance = Math.min(
      liveBurstMaxBytes,
      allowance + (Math.max(0, nowMs - refilledAtMs) / 1_000) * liveBytesPerSecond,
    );
    refilledAtMs = nowMs;
  }

  return {
    show(text) {
      if (text === "") return;
      refill();
      const shown = takeFitting(text, Math.floor(allowance));
      const shownBytes = utf8Length(shown);
      if (shown !== "") {
        onOutput(hiddenBytes > 0 ? `\n[${hiddenBytes} bytes not shown live]\n${shown}` : shown);
        hiddenBytes = 0;
        allowance -= shownBytes;
      }
      hiddenBytes += utf8Length(text) - shownBytes;
    },
  };
}
