/** Each released schema opens under this program and says what it said. One fixture for each version and file. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { agentMigrations } from "../src/agent-schema.ts";
import { blobMigrations } from "../src/blobs/blob-schema.ts";
import { indexMigrations } from "../src/index-schema.ts";
import { migrate } from "../src/migrate.ts";
import { createStoreRig, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

let rig: StoreRig;

beforeEach(() => {
  rig = createStoreRig();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

function build(fixture: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const database = new SqliteDatabase(path);
  database.exec(readFileSync(new URL(`./fixtures/${fixture}`, import.meta.url), "utf8"));
  database.close();
}

function schemaOf(database: SqliteDatabase.Database): unknown[] {
  return database
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    .all();
}

test.each(["store-v1.sql", "store-v2.sql", "store-v3.sql", "store-v4.sql"])(
  "%s opens and says what it said",
  async (fixture) => {
    build(fixture, join(rig.agentFolder("ada"), "store.db"));
    const { read, ...store } = rig.open();
    expect(read.getValue("summary")).toEqual({ name: "Ada" });
    expect(read.entriesBefore({ limit: 9 }).entries.map(({ seq, entry }) => [seq, entry.kind])).toEqual([
      [11, "message"],
      [14, "tool-call"],
    ]);
    expect(read.entriesInSpan({ limit: 9, sinceMs: 2 }).entries.map(({ seq }) => seq)).toEqual([14]);
    expect(read.findPrompt(brandId("n1"))).toEqual(
      promptRow("n1", { digest: "dddd", turnId: brandId("turn-1") }),
    );
    expect(read.pendingPrompts().map(({ text }) => text)).toEqual(["later"]);
    expect(read.openTurn()).toEqual(turnRow(2, { startedAtMs: 10 }));
    expect(read.settledTurns({ limit: 9 })).toEqual([
      turnRow(1, { state: "settled", outcome: "success", settledAtMs: 9 }),
    ]);
    expect(read.records(brandId("turn-1")).map(({ kind }) => kind)).toEqual(["boxReady", "toolSettled"]);
    expect(read.lastSeq()).toBe(14);
    expect(store.eventsSince(8, 9)).toBeUndefined();
    expect(store.eventsSince(9, 9)?.map(({ seq }) => seq)).toEqual([11, 14]);
  },
);

test("a store of version 3 and its blobs of version 1 read as they were written", () => {
  build("store-v3.sql", join(rig.agentFolder("ada"), "store.db"));
  build("payloads-v3.sql", join(rig.agentFolder("ada"), "store.db"));
  build("blobs-v1.sql", join(rig.agentFolder("ada"), "conversation-blobs.db"));
  const { read } = rig.open();
  expect(read.pendingPrompts().map(({ text }) => text)).toEqual(["later", "a large prompt"]);
  expect(read.records(brandId("turn-2"))).toEqual([
    { kind: "stepCompleted", rawParts: [{ type: "reasoning", text: "hm" }], atMs: 4 },
  ]);
});

test.each(["host-v1.sql", "host-v2.sql"])("%s opens and says what it said", (fixture) => {
  build("store-v1.sql", join(rig.agentFolder("ada"), "store.db"));
  build(fixture, join(rig.root, "host.db"));
  const index = rig.openIndex();
  expect(index.agents()).toEqual([
    { agentId: "ada", summary: { name: "Ada" }, lastSeq: 14, hasOpenTurn: true },
  ]);
  expect(index.findNonce(brandId("n1"))).toBe("ada");
  expect(index.findCreation(brandId("c1"))).toEqual({ agentId: "ada", digest: "dddd" });
  expect(index.hostEventsSince(3, 9)?.map(({ seq }) => seq)).toEqual([12]);
  expect([index.lastSeq(), index.resumeFloor()]).toEqual([4096, 3]);
});

test.each([
  ["store-v1.sql", agentMigrations],
  ["store-v2.sql", agentMigrations],
  ["store-v3.sql", agentMigrations],
  ["store-v4.sql", agentMigrations],
  ["blobs-v1.sql", blobMigrations],
  ["host-v1.sql", indexMigrations],
  ["host-v2.sql", indexMigrations],
])("%s migrated has the schema of a fresh file", (fixture, migrations) => {
  const migrated = new SqliteDatabase(":memory:");
  migrated.exec(readFileSync(new URL(`./fixtures/${fixture}`, import.meta.url), "utf8"));
  migrate(migrated, migrations);
  const fresh = new SqliteDatabase(":memory:");
  migrate(fresh, migrations);
  expect(schemaOf(migrated)).toEqual(schemaOf(fresh));
});
