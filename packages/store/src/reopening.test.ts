import { createLogger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { expect, test } from "vitest";
import { createReopening, reopenPauseMs } from "./reopening.ts";
import type { StoreDatabase } from "./sqlite.ts";

function rig() {
  const state = { nowMs: 0, opened: 0, broken: undefined as Error | undefined };
  const file = createReopening({
    open() {
      if (state.broken !== undefined) throw state.broken;
      state.opened += 1;
      return { number: state.opened, database: inMemory() };
    },
    logger: createLogger({ name: "test", level: "silent" }),
    file: "store.db",
    monotonicMs: () => state.nowMs,
  });
  return { state, file };
}

function inMemory(): StoreDatabase {
  const connection = new SqliteDatabase(":memory:");
  const nothing = (): void => {};
  return {
    connection,
    begin: nothing,
    commit: nothing,
    rollback: nothing,
    savepoint: nothing,
    release: nothing,
    rollbackToSavepoint: nothing,
    close: () => void connection.close(),
  };
}

test("the file is opened once and used until a fault closes it", () => {
  const { file } = rig();
  const first = file.use();
  expect(file.use()).toBe(first);
  const error = file.fault(new Error("disk"));
  expect(error).toMatchObject({ code: "store/unavailable", cause: new Error("disk") });
  expect(file.healthy).toBe(false);
  expect(first.database.connection.open).toBe(false);
});

test("the use after a fault opens the file again", () => {
  const { file } = rig();
  file.use();
  file.fault(new Error("disk"));
  expect(file.use().number).toBe(2);
  expect(file.healthy).toBe(true);
});

test("a file that faults again is left alone for a while", () => {
  const { file, state } = rig();
  file.fault(new Error("disk"));
  file.use();
  file.fault(new Error("disk"));
  expect(() => file.use()).toThrow(BoxError);
  expect(state.opened).toBe(2);
  state.nowMs += reopenPauseMs;
  expect(file.use().number).toBe(3);
});

test("a file that can't be opened stays closed, with the reason", () => {
  const { file, state } = rig();
  file.fault(new Error("disk"));
  state.broken = new Error("gone");
  expect(() => file.use()).toThrow(
    expect.objectContaining({ code: "store/unavailable", cause: state.broken }),
  );
  expect(file.healthy).toBe(false);
});

test("a closed file isn't opened again", () => {
  const { file, state } = rig();
  file.close();
  expect(() => file.use()).toThrow(expect.objectContaining({ code: "store/unavailable" }));
  expect(state.opened).toBe(1);
});
