import SqliteDatabase from "better-sqlite3";
import { expect, test } from "vitest";
import { migrate } from "./migrate.ts";

function tables(connection: SqliteDatabase.Database): unknown[] {
  return connection.prepare("SELECT name FROM sqlite_schema ORDER BY name").pluck().all();
}

function version(connection: SqliteDatabase.Database): unknown {
  return connection.pragma("user_version", { simple: true });
}

const steps = ["CREATE TABLE one (id INTEGER) STRICT", "CREATE TABLE two (id INTEGER) STRICT"];

test("an empty file gets all steps, an older one those it lacks, a current one none", () => {
  const connection = new SqliteDatabase(":memory:");
  migrate(connection, steps.slice(0, 1));
  expect([tables(connection), version(connection)]).toEqual([["one"], 1]);
  migrate(connection, steps);
  expect([tables(connection), version(connection)]).toEqual([["one", "two"], 2]);
  migrate(connection, steps);
  expect(version(connection)).toBe(2);
});

test("a file of a newer program is refused and left as it is", () => {
  const connection = new SqliteDatabase(":memory:");
  migrate(connection, steps);
  expect(() => migrate(connection, steps.slice(0, 1))).toThrow(
    expect.objectContaining({ code: "store/newer-schema" }),
  );
  expect(version(connection)).toBe(2);
});

test("a file with tables and no version isn't ours", () => {
  const connection = new SqliteDatabase(":memory:");
  connection.exec("CREATE TABLE foreign_one (id)");
  expect(() => migrate(connection, steps)).toThrow(expect.objectContaining({ code: "store/damaged" }));
  expect(tables(connection)).toEqual(["foreign_one"]);
});

test("a step that fails leaves the file at the version before it", () => {
  const connection = new SqliteDatabase(":memory:");
  migrate(connection, steps.slice(0, 1));
  const broken = [...steps.slice(0, 1), "CREATE TABLE two (id INTEGER) STRICT; SELECT nonsense"];
  expect(() => migrate(connection, broken)).toThrow();
  expect([tables(connection), version(connection)]).toEqual([["one"], 1]);
});

test("what finishes a migration belongs to its transaction, and doesn't run without steps", () => {
  const connection = new SqliteDatabase(":memory:");
  const fail = () => {
    throw new Error("no");
  };
  expect(() => migrate(connection, steps, fail)).toThrow("no");
  expect([tables(connection), version(connection)]).toEqual([[], 0]);
  migrate(connection, steps);
  migrate(connection, steps, fail);
  expect(version(connection)).toBe(2);
});
