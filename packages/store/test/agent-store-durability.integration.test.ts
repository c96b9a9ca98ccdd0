import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase, type StoreDatabase } from "../src/sqlite.ts";
import { createStoreRig, message, type StoreRig } from "./store-rig.ts";

let rig: StoreRig;

beforeEach(() => {
  rig = createStoreRig();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

/** passes the calls on; `commits` counts, `failCommit` lets the next one fail as the disk would */
function watchFile() {
  const watch = {
    commits: 0,
    failCommit: false,
    opened: [] as StoreDatabase[],
    openFile(options: Parameters<typeof openDatabase>[0]): StoreDatabase {
      const database = openDatabase(options);
      const watched = {
        ...database,
        commit() {
          watch.commits += 1;
          if (watch.failCommit) {
            watch.failCommit = false;
            throw new SqliteDatabase.SqliteError("disk I/O error", "SQLITE_IOERR_FSYNC");
          }
          database.commit();
        },
      };
      watch.opened.push(watched);
      return watched;
    },
  };
  return watch;
}

function storePath(agentId = "ada"): string {
  return join(rig.agentFolder(agentId), "store.db");
}

describe("durability", () => {
  test("a connection syncs fully at the first opening and at every later one", async () => {
    const watch = watchFile();
    for (let opening = 0; opening < 3; opening += 1) {
      const store = rig.open("ada", { openFile: watch.openFile });
      await store.transact((tx) => tx.setValue("opening", opening));
      const { connection } = watch.opened[opening] ?? raise();
      expect(connection.pragma("synchronous", { simple: true })).toBe(2);
      expect(connection.pragma("journal_mode", { simple: true })).toBe("wal");
      expect(connection.pragma("foreign_keys", { simple: true })).toBe(1);
      await store.close();
    }
  });

  test("64 changes at once share one commit, and so one fsync", async () => {
    const watch = watchFile();
    const store = rig.open("ada", { openFile: watch.openFile });
    await Promise.all(
      Array.from({ length: 64 }, (_, number) =>
        store.transact((tx) => tx.appendEntry(message(`e${number}`))),
      ),
    );
    expect(watch.commits).toBe(1);
  });

  test("the folder and the file are private", async () => {
    rig.open();
    expect(statSync(rig.agentFolder("ada")).mode & 0o777).toBe(0o700);
    expect(statSync(storePath()).mode & 0o777).toBe(0o600);
    expect(statSync(`${storePath()}-wal`).mode & 0o777).toBe(0o600);
  });

  test("all tables are strict", () => {
    rig.open();
    const reader = new SqliteDatabase(storePath(), { readonly: true });
    const lax = reader.prepare(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
    );
    expect(lax.pluck().all()).toEqual([]);
    reader.close();
  });

  test("the windows of the transcript have their indexes, and a page is read by them", async () => {
    const store = rig.open();
    await store.transact((tx) => {
      tx.appendEntry(message("e1"));
      tx.appendEntry({
        kind: "tool-call",
        id: message("t1").id,
        name: "Shell",
        status: "running",
        summary: "",
        argsPreview: "",
        outputHandle: null,
        timestampMs: 1,
      });
    });
    const reader = new SqliteDatabase(storePath(), { readonly: true });
    const inWindow = reader.prepare(
      `SELECT id FROM transcript_entries INDEXED BY transcript_main_window
       WHERE json_extract(entry, '$.kind') <> 'tool-call' AND coalesce(json_extract(entry, '$.branched'), 0) = 0`,
    );
    expect(inWindow.pluck().all()).toEqual(["e1"]);
    reader.close();
  });
});

describe("faults", () => {
  test("a failed commit rejects its whole group, publishes nothing and closes the file", async () => {
    const watch = watchFile();
    const store = rig.open("ada", { openFile: watch.openFile });
    watch.failCommit = true;
    const results = await Promise.allSettled([
      store.transact((tx) => tx.appendEntry(message("e1"))),
      store.transact((tx) => tx.appendEntry(message("e2"))),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "store/unavailable", cause: { code: "SQLITE_IOERR_FSYNC" } },
      });
    }
    expect(rig.published).toEqual([]);
    expect(store.healthy).toBe(false);
    expect(watch.opened[0]?.connection.open).toBe(false);
  });

  test("the change after a fault runs on the file opened anew, which holds what was acknowledged", async () => {
    const watch = watchFile();
    const store = rig.open("ada", { openFile: watch.openFile });
    await store.transact((tx) => tx.appendEntry(message("acknowledged")));
    watch.failCommit = true;
    await expect(store.transact((tx) => tx.appendEntry(message("lost")))).rejects.toThrow();
    await store.transact((tx) => tx.appendEntry(message("later")));
    expect(store.healthy).toBe(true);
    expect(watch.opened).toHaveLength(2);
    expect(store.read.entriesBefore({ limit: 9 }).entries.map(({ entry }) => entry.id)).toEqual([
      "acknowledged",
      "later",
    ]);
    const seqs = rig.published.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((left, right) => left - right));
  });

  test("a full disk refuses changes, keeps what was acknowledged, and the store goes on when there is room", () => {
    const filler = fileURLToPath(new URL("./fill-disk.ts", import.meta.url));
    // The limit on file sizes is the same to SQLite as a disk without room.
    const run = spawnSync(
      "bash",
      ["-c", `ulimit -S -f 2000; exec "${process.execPath}" "${filler}" "${rig.root}"`],
      {
        encoding: "utf8",
        timeout: 60_000,
      },
    );
    expect(run.stderr).toBe("");
    const report = JSON.parse(run.stdout) as {
      acknowledged: number;
      kept: number;
      code: string;
      after: boolean;
    };
    expect(report.acknowledged).toBeGreaterThan(10);
    expect(report).toEqual({
      acknowledged: report.acknowledged,
      kept: report.acknowledged,
      code: "store/unavailable",
    });
    expect(rig.open("filler").read.getValue("key-0")).toHaveLength(4_000);
  });
});

describe("files that can't be used", () => {
  test("a newer schema is refused and the file stays as it is", async () => {
    await rig.open().close();
    const writer = new SqliteDatabase(storePath());
    writer.pragma("user_version = 1000");
    writer.close();
    const before = readFileSync(storePath());
    expect(() => rig.open()).toThrow(expect.objectContaining({ code: "store/newer-schema" }));
    expect(readFileSync(storePath()).equals(before)).toBe(true);
  });

  test("a file that is no database is refused as damaged and stays as it is", async () => {
    await rig.open().close();
    damage(storePath(), 0, 4_096);
    const before = readFileSync(storePath());
    expect(() => rig.open()).toThrow(expect.objectContaining({ code: "store/damaged" }));
    expect(readFileSync(storePath()).equals(before)).toBe(true);
  });

  test("damage that shows later fails that use, and the next opening refuses the file", async () => {
    const store = rig.open();
    await store.transact((tx) => {
      for (let number = 0; number < 200; number += 1) tx.appendEntry(message(`e${number}`, "x".repeat(500)));
    });
    await store.close();
    const again = rig.open();
    // Only a part of the transcript that the opening doesn't look at: what the second change needs could still be read.
    const at = readFileSync(storePath()).indexOf('"id":"e100"');
    damage(storePath(), at - (at % 4_096), at - (at % 4_096) + 4_096);
    const change = again.transact((tx) => {
      tx.entriesBefore({ limit: 500 });
      tx.setValue("key", 1);
    });
    await expect(change).rejects.toMatchObject({ code: "store/damaged" });
    expect(again.healthy).toBe(false);
    await expect(again.transact((tx) => tx.setValue("key", 1))).rejects.toMatchObject({
      code: "store/damaged",
    });
  });

  test("a store that must exist and doesn't is a loss, not an empty one", () => {
    expect(() => rig.open("gone", { create: false })).toThrow(
      expect.objectContaining({ code: "store/damaged" }),
    );
    expect(statSync(rig.agentFolder("gone"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("a store that must exist and is empty is a loss too", async () => {
    await rig.open("ada").close();
    writeFileSync(join(rig.agentFolder("ada"), "store.db"), "");
    expect(() => rig.open("ada", { create: false })).toThrow(
      expect.objectContaining({ code: "store/damaged" }),
    );
  });
});

function damage(path: string, from: number, to: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(to - from, 0x5a), 0, to - from, from);
  closeSync(file);
}

function raise(): never {
  throw new Error("there must be one");
}
