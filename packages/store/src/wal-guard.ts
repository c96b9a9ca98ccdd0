/**
 * Bounds a write-ahead log that another program keeps from being emptied.
 *
 * A reader that stays (a copy under way, a shell somebody forgot) pins the log: each commit adds to it and no checkpoint
 * can take anything away, until the disk is full. So a large log is said once, and beyond the limit changes are refused
 * until the reader is gone. A refused change left no trace, so its caller may send it again.
 */
import { statSync } from "node:fs";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { type Connection, emptyLog } from "./sqlite.ts";

export interface WalLimits {
  /** a log of this size is told to the operator, in bytes */
  readonly alarmBytes: number;
  /** from this size on changes are refused, in bytes */
  readonly maxBytes: number;
  /** the least time between two tries to empty a full log, in `ms` */
  readonly retryMs: number;
}

export const walLimits: WalLimits = { alarmBytes: 64 * 1_048_576, maxBytes: 512 * 1_048_576, retryMs: 500 };

export interface WalGuardDeps {
  /** the database's file */
  readonly path: string;
  readonly connection: () => Connection;
  readonly logger: Logger;
  readonly limits?: WalLimits;
}

/** Why no change is taken now, or nothing. To be asked before each change. */
export function createWalGuard(deps: WalGuardDeps): () => BoxError | undefined {
  const { alarmBytes, maxBytes, retryMs } = deps.limits ?? walLimits;
  const walPath = `${deps.path}-wal`;
  let isTold = false;
  let triedAtMs = Number.NEGATIVE_INFINITY;

  function tell(bytes: number): void {
    if (bytes < alarmBytes) isTold = false;
    else if (!isTold) {
      isTold = true;
      deps.logger.error(
        { event: "store.wal-large", file: walPath, bytes },
        "a write-ahead log grows because another program keeps reading the database",
      );
    }
  }

  function emptyNow(): void {
    if (performance.now() - triedAtMs < retryMs) return;
    triedAtMs = performance.now();
    emptyLog(deps.connection());
  }

  return () => {
    let bytes = sizeOf(walPath);
    if (bytes >= maxBytes) {
      emptyNow();
      bytes = sizeOf(walPath);
    }
    tell(bytes);
    return bytes < maxBytes ? undefined : full(walPath);
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function full(walPath: string): BoxError {
  return new BoxError("store/unavailable", "another program keeps the store's log from being emptied", {
    hint: `end the program that has ${walPath} open`,
  });
}
