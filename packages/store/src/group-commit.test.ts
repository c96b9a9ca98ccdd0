import { BoxError, type CommittedEvent, InvariantError } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { expect, test } from "vitest";
import { createGroupCommit, type GroupCommit, groupMax, queueMax } from "./group-commit.ts";

interface Steps {
  readonly log: string[];
  readonly group: GroupCommit<{ emit(seq: number): void }>;
  /** the step that fails next */
  fail: string | undefined;
}

/** a database that writes down what is asked of it */
function recordSteps(): Steps {
  const log: string[] = [];
  const events: CommittedEvent[] = [];
  const step = (name: string) => () => {
    log.push(name);
    if (steps.fail !== name) return;
    steps.fail = undefined;
    throw new Error(`${name} failed`);
  };
  const steps: Steps = {
    log,
    fail: undefined,
    group: createGroupCommit({
      target: () => ({
        database: {
          connection: undefined as never,
          begin: step("begin"),
          commit: step("commit"),
          rollback: step("rollback"),
          savepoint: step("savepoint"),
          release: step("release"),
          rollbackToSavepoint: step("undo"),
          close: step("close"),
        },
        tx: { emit: (seq) => void events.push({ seq, channel: "test", payload: {} }) },
        events,
        finish: step("finish"),
        committed: step("committed"),
      }),
      fault(cause) {
        log.push("fault");
        return new BoxError("store/unavailable", "faulted", { cause });
      },
      publish: (published) => void log.push(`publish ${published.map(({ seq }) => seq).join(" ")}`),
      mark: "",
    }),
  };
  return steps;
}

test("INV-2: changes of one tick share a commit, and callers go on after the events are published", async () => {
  const { group, log } = recordSteps();
  const done = [1, 2].map(async (seq) => {
    const committed = await group.submit((tx) => tx.emit(seq));
    log.push(`resolved ${seq}`);
    return committed.events.map((event) => event.seq);
  });
  expect(await Promise.all(done)).toEqual([[1], [2]]);
  expect(log).toEqual([
    "begin",
    "savepoint",
    "release",
    "savepoint",
    "release",
    "finish",
    "commit",
    "committed",
    "publish 1 2",
    "resolved 1",
    "resolved 2",
  ]);
});

test("a change that throws is undone alone, with its events, and its error stays what it is", async () => {
  const { group, log } = recordSteps();
  const mine = new Error("mine");
  const results = await Promise.allSettled([
    group.submit((tx) => tx.emit(1)),
    group.submit((tx) => {
      tx.emit(2);
      throw mine;
    }),
    group.submit((tx) => tx.emit(3)),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toEqual({ status: "rejected", reason: mine });
  expect(log.filter((line) => line === "undo" || line.startsWith("publish"))).toEqual([
    "undo",
    "publish 1 3",
  ]);
});

test.each(["begin", "finish", "commit"])(
  "a failing %s rejects the whole group and publishes nothing",
  async (fail) => {
    const steps = recordSteps();
    steps.fail = fail;
    const results = await Promise.allSettled([1, 2].map((seq) => steps.group.submit((tx) => tx.emit(seq))));
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "store/unavailable" } });
    }
    expect(steps.log.filter((line) => line === "fault" || line.startsWith("publish"))).toEqual(["fault"]);
  },
);

test("a storage fault inside one change rejects the whole group: the transaction is doubtful", async () => {
  const { group, log } = recordSteps();
  const results = await Promise.allSettled([
    group.submit((tx) => tx.emit(1)),
    group.submit(() => {
      throw new SqliteDatabase.SqliteError("disk I/O error", "SQLITE_IOERR_READ");
    }),
  ]);
  for (const result of results) {
    expect(result).toMatchObject({ status: "rejected", reason: { code: "store/unavailable" } });
  }
  expect(log).not.toContain("commit");
});

test("changes that are asked for by work that goes on in the same tick share its commit", async () => {
  const { group, log } = recordSteps();
  const delayed = async (steps: number): Promise<void> => {
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    await group.submit(() => {});
  };
  await Promise.all([delayed(0), delayed(3), delayed(10)]);
  expect(log.filter((line) => line === "commit")).toHaveLength(1);
});

test("the group after a fault starts anew, without the events of the failed one", async () => {
  const steps = recordSteps();
  steps.fail = "commit";
  await expect(steps.group.submit((tx) => tx.emit(1))).rejects.toMatchObject({ code: "store/unavailable" });
  const { events } = await steps.group.submit((tx) => tx.emit(2));
  expect(events.map(({ seq }) => seq)).toEqual([2]);
  expect(steps.log.filter((line) => line.startsWith("publish"))).toEqual(["publish 2"]);
});

test("a change that returns a promise is refused and undone", async () => {
  const { group, log } = recordSteps();
  await expect(group.submit(async () => {})).rejects.toThrow(InvariantError);
  expect(log).toEqual(["begin", "rollback"]);
});

test("a change that is alone in its group has no savepoint", async () => {
  const { group, log } = recordSteps();
  await group.submit((tx) => tx.emit(1));
  expect(log).toEqual(["begin", "finish", "commit", "committed", "publish 1"]);
});

test("a lone change that throws takes its transaction with it, and nothing is committed or published", async () => {
  const { group, log } = recordSteps();
  const mine = new Error("mine");
  const failing = group.submit((tx) => {
    tx.emit(1);
    throw mine;
  });
  await expect(failing).rejects.toBe(mine);
  expect(log).toEqual(["begin", "rollback"]);
  const { events } = await group.submit((tx) => tx.emit(2));
  expect(events.map(({ seq }) => seq)).toEqual([2]);
});

test("a long queue is committed in groups of bounded size", async () => {
  const { group, log } = recordSteps();
  await Promise.all(Array.from({ length: groupMax + 1 }, () => group.submit(() => {})));
  expect(log.filter((line) => line === "commit")).toHaveLength(2);
});

test("more changes than the queue takes are refused", async () => {
  const { group } = recordSteps();
  const waiting = Array.from({ length: queueMax }, () => group.submit(() => {}));
  await expect(group.submit(() => {})).rejects.toMatchObject({ code: "host/overloaded" });
  await Promise.all(waiting);
});

test("flushing commits what waits at once", () => {
  const { group, log } = recordSteps();
  void group.submit(() => {});
  group.flush();
  expect(log).toContain("commit");
});

test("a change that is asked for while events are published is in the next group", async () => {
  const { group, log } = recordSteps();
  let inner: Promise<unknown> = Promise.resolve();
  await group.submit(() => {
    inner = group.submit(() => {});
  });
  await inner;
  expect(log.filter((line) => line === "commit")).toHaveLength(2);
});
