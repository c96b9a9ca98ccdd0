/**
 * Writes to a non-blocking descriptor in order and whole. A full terminal takes nothing until its program reads, which
 * may be never; so it is tried again after a pause that grows, and the processor rests meanwhile.
 */
import { write, writeSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import { ptyLimits } from "./pty-limits.ts";

export interface InputWriter {
  /** Resolves when the descriptor has taken all of it; rejects when that can't happen any more. */
  write(bytes: Buffer): Promise<void>;
  /** Rejects what waits. The descriptor may be closed once this has resolved. */
  close(): Promise<void>;
}

export function createInputWriter(fd: number): InputWriter {
  let last: Promise<void> = Promise.resolve();
  let isClosed = false;
  /** something waits, and nothing may overtake it */
  let isBusy = false;
  let wake: (() => void) | undefined;

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      function done(): void {
        clearTimeout(timer);
        wake = undefined;
        resolve();
      }
      wake = done;
    });
  }

  async function writeAll(bytes: Buffer): Promise<void> {
    let at = 0;
    let waitMs: number = ptyLimits.inputRetryMinMs;
    while (at < bytes.length) {
      if (isClosed) throw ended();
      const taken = await writeSome(fd, bytes, at);
      at += taken;
      if (taken > 0) waitMs = ptyLimits.inputRetryMinMs;
      else {
        await pause(waitMs);
        waitMs = Math.min(waitMs * 2, ptyLimits.inputRetryMaxMs);
      }
    }
  }

  /** The descriptor never blocks, and a key that is written at once is echoed sooner. */
  function writeAtOnce(bytes: Buffer): Buffer {
    if (isBusy || isClosed) return bytes;
    try {
      return bytes.subarray(writeSync(fd, bytes));
    } catch {
      // Full, or gone: the patient way says which.
      return bytes;
    }
  }

  return {
    write(given) {
      const bytes = writeAtOnce(given);
      if (bytes.length === 0) return Promise.resolve();
      isBusy = true;
      const work = last.then(() => writeAll(bytes));
      // What failed is told to its caller; what comes after it is tried for itself.
      const done = work
        .catch(() => undefined)
        .then(() => {
          if (last === done) isBusy = false;
        });
      last = done;
      return work;
    },
    async close() {
      isClosed = true;
      wake?.();
      await last;
    },
  };
}

function ended(): BoxError {
  return new BoxError("terminal/ended", "the terminal has ended");
}

/** 0 when the terminal is full. */
function writeSome(fd: number, bytes: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, at, bytes.length - at, null, (error, taken) => {
      if (error === null) resolve(taken);
      else if (error.code === "EAGAIN") resolve(0);
      else reject(new BoxError("terminal/ended", "the terminal takes no input", { cause: error }));
    });
  });
}
