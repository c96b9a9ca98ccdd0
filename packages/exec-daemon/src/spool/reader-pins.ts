/**
 * Readers that want all of the output. While one is attached the command waits before the spool would drop what the
 * reader hasn't read: the lowest segment that any of them wants stands in a file, and the shim looks there before it
 * begins the segment that would cost one. It doesn't wait for ever, so a pin that is left by a daemon that died holds
 * nothing up for long. A Node keeper doesn't look: there a reader that is slow gets a gap.
 */
import { closeSync, constants, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { executionFiles } from "../ledger/execution-folder.ts";

export interface ReaderPin {
  /** What is before this segment may go. */
  moveTo(segment: number): void;
  release(): void;
}

export interface ReaderPins {
  /** From now on nothing is dropped that this reader hasn't read. */
  hold(folder: string): ReaderPin;
}

/** the first segment is never dropped */
const firstDroppable = 1;

/** Always as many digits, and never truncated: whoever looks in between finds the old number or the new. */
function overwrite(path: string, digits: string): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(file, digits, 0);
  } finally {
    closeSync(file);
  }
}

export function createReaderPins(): ReaderPins {
  const folders = new Map<string, Map<ReaderPin, number>>();

  function publish(folder: string, before: number): void {
    const pins = [...(folders.get(folder)?.values() ?? [])];
    const lowest = Math.min(...pins);
    if (pins.length > 0 && lowest === before) return;
    const file = join(folder, executionFiles.readerPin);
    try {
      if (pins.length === 0) rmSync(file, { force: true });
      else overwrite(file, String(lowest).padStart(8, "0"));
    } catch {
      // The disk is full, or the execution was forgotten: then this reader is one like the others.
    }
  }

  return {
    hold(folder) {
      const pins = folders.get(folder) ?? new Map<ReaderPin, number>();
      folders.set(folder, pins);
      const lowest = (): number => Math.min(...pins.values());
      const pin: ReaderPin = {
        moveTo(segment) {
          const before = lowest();
          pins.set(pin, Math.max(firstDroppable, segment));
          publish(folder, before);
        },
        release() {
          const before = lowest();
          pins.delete(pin);
          publish(folder, before);
          if (pins.size === 0) folders.delete(folder);
        },
      };
      pin.moveTo(firstDroppable);
      return pin;
    },
  };
}
