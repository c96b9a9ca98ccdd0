/**
 * Commits what was asked for in the same tick together, with one fsync.
 *
 * 1. Each change runs in a savepoint: one that throws is undone alone, and its error reaches its caller unchanged. One
 *    that is alone in its group needs none, for then the transaction itself is undone.
 * 2. Order: COMMIT, then the events are published, then the callers go on. Nothing is published that isn't committed.
 * 3. A storage fault rejects the whole group with `store/unavailable` and closes the connection. Nothing is tried again
 *    in place: after a failed fsync the kernel may hold pages as clean that never reached the disk. Whether the group
 *    is on disk is then unknown; callers ask again under the same nonce.
 */
import { failpoint } from "@sand/node-kit";
import { BoxError, type CommittedEvent, invariant } from "@sand/protocol";
import { isStorageFault, type StoreDatabase } from "./sqlite.ts";

/** the most changes under one fsync; the rest waits for the next tick, so that other work gets its turn */
export const groupMax = 512;
/** the most changes that may wait; one more is refused with `host/overloaded` */
export const queueMax = 10_000;

/** what a group runs on; made anew when the file is opened again */
export interface GroupTarget<Tx> {
  readonly database: StoreDatabase;
  readonly tx: Tx;
  /** the transaction's events so far, in order */
  readonly events: CommittedEvent[];
  /** last writes before COMMIT */
  finish(): void;
  /** the COMMIT is done */
  committed(): void;
}

export interface GroupCommitDeps<Tx> {
  /** opens, or opens again after a fault; throws when that isn't possible */
  readonly target: () => GroupTarget<Tx>;
  /** closes the target for good and returns what callers get */
  readonly fault: (cause: unknown) => BoxError;
  readonly publish: (events: readonly CommittedEvent[]) => void;
  /** before anything begins; `changes` is the size of the group */
  readonly prepare?: (changes: number) => void;
  /** why no change is taken now; asked before each one */
  readonly refusal?: () => BoxError | undefined;
  /** prefix of the failpoints' names */
  readonly mark: string;
}

export interface GroupCommit<Tx> {
  submit<T>(
    change: (tx: Tx) => T,
  ): Promise<{ readonly value: T; readonly events: readonly CommittedEvent[] }>;
  /** commits what waits, now */
  flush(): void;
}

interface Waiting<Tx> {
  run(tx: Tx): void;
  resolve(events: readonly CommittedEvent[]): void;
  reject(error: unknown): void;
}

type Ran<Tx> = { readonly change: Waiting<Tx>; readonly from: number; readonly to: number };
type Failed<Tx> = { readonly change: Waiting<Tx>; readonly error: unknown };

export function createGroupCommit<Tx>(deps: GroupCommitDeps<Tx>): GroupCommit<Tx> {
  const queue: Waiting<Tx>[] = [];
  let scheduled = false;

  function schedule(): void {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      flushGroup();
      schedule();
    });
  }

  function flushGroup(): void {
    const group = queue.splice(0, groupMax);
    if (group.length === 0) return;
    const ran: Ran<Tx>[] = [];
    const failed: Failed<Tx>[] = [];
    let events: readonly CommittedEvent[];
    try {
      events = commitGroup(deps, group, ran, failed);
    } catch (error) {
      rejectAll(group, deps.fault(error));
      return;
    }
    failpoint(`${deps.mark}publish.before`);
    if (events.length > 0) deps.publish(events);
    failpoint(`${deps.mark}publish.after`);
    for (const { change, from, to } of ran) change.resolve(events.slice(from, to));
    for (const { change, error } of failed) change.reject(error);
  }

  return {
    submit(change) {
      if (queue.length >= queueMax) {
        return Promise.reject(new BoxError("host/overloaded", "too many changes wait to be stored"));
      }
      const refusal = deps.refusal?.();
      if (refusal !== undefined) return Promise.reject(refusal);
      return new Promise((resolve, reject) => {
        queue.push(waitingChange(change, resolve, reject));
        schedule();
      });
    },
    flush() {
      while (queue.length > 0) flushGroup();
    },
  };
}

function waitingChange<Tx, T>(
  change: (tx: Tx) => T,
  resolve: (committed: { readonly value: T; readonly events: readonly CommittedEvent[] }) => void,
  reject: (error: unknown) => void,
): Waiting<Tx> {
  let done: { readonly value: T } | undefined;
  return {
    run(tx) {
      const value = change(tx);
      invariant(
        !isThenable(value),
        "a change is synchronous: what it awaits would run outside its transaction",
      );
      done = { value };
    },
    resolve(events) {
      invariant(done !== undefined, "only a change that ran is committed");
      resolve({ value: done.value, events });
    },
    reject,
  };
}

/** Runs and commits; throws on a storage fault only. */
function commitGroup<Tx>(
  deps: GroupCommitDeps<Tx>,
  group: readonly Waiting<Tx>[],
  ran: Ran<Tx>[],
  failed: Failed<Tx>[],
): readonly CommittedEvent[] {
  deps.prepare?.(group.length);
  const target = deps.target();
  const { database, events } = target;
  events.length = 0;
  database.begin();
  for (const change of group) {
    const from = events.length;
    const outcome = group.length === 1 ? runAlone(target, change) : runInSavepoint(target, change);
    if (outcome.ok) {
      ran.push({ change, from, to: events.length });
    } else {
      events.length = from;
      failed.push({ change, error: outcome.error });
    }
  }
  // The one change there was has undone its transaction.
  if (group.length === failed.length && group.length === 1) return [];
  target.finish();
  failpoint(`${deps.mark}commit.before`);
  database.commit();
  target.committed();
  failpoint(`${deps.mark}commit.after`);
  return events.slice();
}

type Outcome = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/** A savepoint would copy each page before its first change. */
function runAlone<Tx>({ database, tx }: GroupTarget<Tx>, change: Waiting<Tx>): Outcome {
  try {
    change.run(tx);
  } catch (error) {
    if (isStorageFault(error)) throw error;
    database.rollback();
    return { ok: false, error };
  }
  return { ok: true };
}

function runInSavepoint<Tx>(target: GroupTarget<Tx>, change: Waiting<Tx>): Outcome {
  const { database, tx } = target;
  database.savepoint();
  try {
    change.run(tx);
  } catch (error) {
    // A fault makes the whole transaction doubtful, and SQLite may have ended it already.
    if (isStorageFault(error)) throw error;
    database.rollbackToSavepoint();
    return { ok: false, error };
  }
  database.release();
  return { ok: true };
}

function rejectAll<Tx>(group: readonly Waiting<Tx>[], error: unknown): void {
  for (const change of group) change.reject(error);
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
