/**
 * Keeps one open file and opens it again after a fault.
 *
 * A fault closes the connection for good. The next use writes the file's bytes again (rewrite-files.ts), opens it from
 * disk and checks it before anything else runs; while that fails, each use fails with its reason and the file stays
 * closed. All that reads the whole file, so on a disk that stays broken it isn't repeated for each use: in between, uses
 * fail at once.
 */
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { rewriteFiles } from "./rewrite-files.ts";
import { type Connection, isDamage, type StoreDatabase } from "./sqlite.ts";

export interface Reopening<Opened> {
  /** the open file; opens it after a fault */
  use(): Opened;
  /** Closes after a storage fault. Returns what callers get. */
  fault(cause: unknown): BoxError;
  readonly healthy: boolean;
  close(): void;
}

/** the least time from one opening after a fault to the next, in `ms` */
export const reopenPauseMs = 1_000;

export interface ReopeningDeps<Opened> {
  readonly open: () => Opened;
  readonly logger: Logger;
  /** the file's name in log lines */
  readonly file: string;
  /** why the file must not be touched now */
  readonly refusal?: () => BoxError | undefined;
  /** Told of damage, with the file closed. Returns what callers get instead. */
  readonly onDamage?: (reason: BoxError) => BoxError;
  /** any clock that doesn't jump, in `ms` */
  readonly monotonicMs?: () => number;
}

/** Opens at once, so a file that can't be used is refused where it is named. */
export function createReopening<Opened extends { readonly database: StoreDatabase }>(
  deps: ReopeningDeps<Opened>,
): Reopening<Opened> {
  let opened: Opened | undefined = openChecked(deps, false);
  let closed = false;

  const nowMs = deps.monotonicMs ?? (() => performance.now());
  let reopenAtMs = nowMs();

  function reopen(): Opened {
    if (nowMs() < reopenAtMs) throw new BoxError("store/unavailable", "the store failed a moment ago");
    reopenAtMs = nowMs() + reopenPauseMs;
    const fresh = openChecked(deps, true);
    deps.logger.warn({ event: "store.reopened", file: deps.file }, "a store is in use again after a fault");
    return fresh;
  }

  return {
    use() {
      if (closed) throw new BoxError("store/unavailable", "the store is closed");
      opened ??= reopen();
      return opened;
    },
    fault(cause) {
      const error = toStoreError(cause);
      const faulted = opened;
      opened = undefined;
      if (faulted !== undefined) {
        deps.logger.error(
          { event: "store.faulted", file: deps.file, err: error },
          "a store was closed after a fault",
        );
        closeQuietly(faulted.database);
        // Told once for each opening: whoever fails on the same damage later finds the file closed.
        if (error.code === "store/damaged" && isDamage(cause)) return deps.onDamage?.(error) ?? error;
      }
      return error;
    },
    get healthy() {
      return opened !== undefined && !closed;
    },
    close() {
      closed = true;
      const last = opened;
      opened = undefined;
      last?.database.close();
    },
  };
}

function openChecked<Opened extends { readonly database: StoreDatabase }>(
  deps: ReopeningDeps<Opened>,
  afterFault: boolean,
): Opened {
  const refusal = deps.refusal?.();
  if (refusal !== undefined) throw refusal;
  try {
    if (afterFault) rewriteFiles(deps.file);
    const opened = deps.open();
    if (afterFault) checkOrClose(opened.database);
    return opened;
  } catch (error) {
    const reason = toStoreError(error);
    throw reason.code === "store/damaged" ? (deps.onDamage?.(reason) ?? reason) : reason;
  }
}

function checkOrClose(database: StoreDatabase): void {
  try {
    quickCheck(database.connection);
  } catch (error) {
    closeQuietly(database);
    throw error;
  }
}

export function quickCheck(connection: Connection): void {
  const verdict = connection.pragma("quick_check(1)", { simple: true });
  if (verdict === "ok") return;
  throw new BoxError("store/damaged", `the store failed its check: ${String(verdict)}`, {
    hint: "restore the file from a copy, or move it away",
  });
}

/** Any failure of the storage, as a code that a client can act on. A `BoxError` stays what it is. */
export function toStoreError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  if (isDamage(error)) {
    return new BoxError("store/damaged", "the store is damaged", {
      cause: error,
      hint: "restore the file from a copy, or move it away",
    });
  }
  return new BoxError("store/unavailable", "the store can't be read or written now", {
    cause: error,
    hint: "check the disk's space and health",
  });
}

function closeQuietly(database: StoreDatabase): void {
  try {
    database.rollback();
  } catch {
    // The connection is given up because it failed; that it fails once more tells nothing new.
  }
  try {
    database.close();
  } catch {
    // As above: the file is opened from disk before it is used again.
  }
}
