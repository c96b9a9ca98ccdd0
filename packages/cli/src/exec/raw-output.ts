/**
 * Bytes to one of our own output streams, as they are and no faster than they are taken. A reader that closes the
 * stream (`sand exec … | head`) is told of once; from then on what is written goes nowhere.
 */
import type { Writable } from "node:stream";

export interface RawOutput {
  write(data: Uint8Array | string): Promise<void>;
}

export function createRawOutput(stream: Writable, onReaderGone: () => void): RawOutput {
  let isGone = false;
  let release: (() => void) | undefined;
  stream.on("drain", () => release?.());
  stream.on("error", () => {
    if (!isGone) onReaderGone();
    isGone = true;
    release?.();
  });
  return {
    write: (data) =>
      new Promise((resolve) => {
        release = resolve;
        if (isGone || stream.write(data)) resolve();
      }),
  };
}
