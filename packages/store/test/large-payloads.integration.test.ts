/** Large payloads of an agent: where they lie, what they read as, and what is left when nothing names them. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { AgentStore, TurnRecord } from "@sand/agent-core";
import { brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AgentWorkerPool, createAgentWorkerPool } from "../src/index.ts";
import { createStoreRig, message, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

const entry = fileURLToPath(new URL("../src/blobs/blob-thread.ts", import.meta.url));
const long = (mark: string, length = 100_000): string => mark.repeat(Math.ceil(length / mark.length));

let rig: StoreRig;
let pool: AgentWorkerPool;
beforeEach(() => {
  rig = createStoreRig();
  pool = createAgentWorkerPool({ entry, dataRoot: rig.root, logger: rig.logger });
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
  await pool.close();
});

const open = (): AgentStore => rig.open("ada", { blobWorkers: pool });
const blobPath = (): string => join(rig.agentFolder("ada"), "conversation-blobs.db");

/** a look from outside, as another program has it */
function look<T>(file: string, sql: string): T[] {
  const database = new SqliteDatabase(join(rig.agentFolder("ada"), file), { readonly: true });
  try {
    return database.prepare<unknown[], T>(sql).all();
  } finally {
    database.close();
  }
}

function stepWith(
  text: string,
  more: Partial<Extract<TurnRecord, { kind: "stepCompleted" }>> = {},
): TurnRecord {
  return {
    kind: "stepCompleted",
    step: 1,
    attempt: 1,
    finish: "stop",
    text,
    answerEntryId: null,
    calls: [],
    usage: {
      inputTokens: 1,
      outputTokens: 1,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      reasoningTokens: null,
    },
    provider: "p",
    model: "m",
    rawParts: [],
    atMs: 3,
    ...more,
  };
}

test("a large prompt lies once in the blobs, whatever names it, and reads as it was", async () => {
  const store = open();
  const text = long("große Eingabe 🦀 ");
  const row = promptRow("n1", { text });
  await store.transact((tx) => {
    tx.appendEntry(message("e1", text));
    tx.insertPrompt(row);
    tx.insertTurn(turnRow(1));
    tx.appendRecord({ turnId: brandId("turn-1"), generation: 1 }, stepWith(text));
  });
  expect(store.read.findPrompt(row.nonce)).toEqual(row);
  expect(store.read.records(brandId("turn-1"))).toEqual([stepWith(text)]);
  expect(store.eventsSince(0, 9)?.map(({ payload }) => payload)).toEqual(
    rig.published.map(({ payload }) => payload),
  );
  await store.settlePayloads();
  // The payload, and the root over it with its one page.
  expect(look("conversation-blobs.db", "SELECT id FROM blobs")).toHaveLength(3);
  expect(look("store.db", "SELECT blob FROM payloads")).toHaveLength(1);
});

test("an entry of the transcript has the shape that other programs read, also when it is large", async () => {
  const store = open();
  await store.transact((tx) => tx.appendEntry(message("e1", long("x"))));
  const [row] = look<{ content: string }>(
    "store.db",
    "SELECT json_extract(entry, '$.content') AS content FROM transcript_entries",
  );
  expect(row?.content).toBe(long("x"));
});

test("small payloads start no thread and make no file", async () => {
  const store = open();
  await store.transact((tx) => tx.insertPrompt(promptRow("n1", { text: "x".repeat(60_000) })));
  expect(pool.paths()).toEqual([]);
  expect(existsSync(blobPath())).toBe(false);
});

test("a change with many large parts and many small ones reads as it was, and lone surrogates too", async () => {
  const store = open();
  const record = stepWith(`${long("a")}\ud800`, {
    rawParts: Array.from({ length: 3_000 }, (_, at) => ({ type: "reasoning", text: `part ${at} of them` })),
    calls: [
      {
        callId: brandId("c"),
        providerCallId: "p",
        entryId: brandId("e"),
        name: "WriteFile",
        argsText: JSON.stringify({ content: long("y", 300_000) }),
      },
    ],
  });
  await store.transact((tx) => {
    tx.insertTurn(turnRow(1));
    tx.appendRecord({ turnId: brandId("turn-1"), generation: 1 }, record);
  });
  expect(store.read.records(brandId("turn-1"))).toEqual([record]);
  const [row] = look<{ length: number }>("store.db", "SELECT length(body) AS length FROM turn_records");
  expect(row?.length).toBeLessThan(70_000);
});

test("a store that is opened again reads its payloads, without a thread", async () => {
  const first = open();
  const row = promptRow("n1", { text: long("again ") });
  await first.transact((tx) => tx.insertPrompt(row));
  await first.close();
  await pool.close();
  const second = rig.open("ada");
  expect(second.read.findPrompt(row.nonce)).toEqual(row);
});

test("payloads that are brought in ahead are read without the disk", async () => {
  const store = open();
  const row = promptRow("n1", { text: long("ahead ") });
  await store.transact((tx) => tx.insertPrompt(row));
  await store.close();
  const again = open();
  await again.preloadPayloads(0);
  const database = new SqliteDatabase(blobPath());
  database.exec("UPDATE blobs SET data = zeroblob(10)");
  database.close();
  expect(again.read.findPrompt(row.nonce)).toEqual(row);
});

test("a payload that isn't what was stored is refused with a typed error, and the others are read", async () => {
  const store = open();
  const [good, bad] = [promptRow("n1", { text: long("good ") }), promptRow("n2", { text: long("bad ") })];
  await store.transact((tx) => tx.insertPrompt(bad));
  await store.transact((tx) => tx.insertPrompt(good));
  await store.close();
  const database = new SqliteDatabase(blobPath());
  database.exec(
    "UPDATE blobs SET data = CAST(replace(CAST(data AS TEXT), 'bad', 'BAD') AS BLOB) WHERE rowid = 1",
  );
  database.close();
  const again = open();
  expect(() => again.read.findPrompt(bad.nonce)).toThrow(expect.objectContaining({ code: "store/damaged" }));
  expect(again.read.findPrompt(good.nonce)).toEqual(good);
  // The same payload once more makes it whole.
  await again.transact((tx) => tx.insertPrompt({ ...bad, promptId: brandId("p3"), nonce: brandId("n3") }));
  expect(again.read.findPrompt(bad.nonce)).toEqual(bad);
});

test("a lost file of blobs is told as damage, by the payloads that lay in it", async () => {
  const store = open();
  const row = promptRow("n1", { text: long("lost ") });
  await store.transact((tx) => tx.insertPrompt(row));
  await store.close();
  const database = new SqliteDatabase(blobPath());
  database.exec("DELETE FROM blobs");
  database.close();
  expect(() => open().read.findPrompt(row.nonce)).toThrow(expect.objectContaining({ code: "store/damaged" }));
});

test("what a change that failed left behind is collected, and nothing else", async () => {
  const store = open();
  const row = promptRow("n1", { text: long("kept ") });
  await store.transact((tx) => tx.insertPrompt(row));
  await store.settlePayloads();
  let runs = 0;
  const failing = store.transact((tx) => {
    runs += 1;
    tx.insertPrompt(promptRow("n2", { text: long("orphan ") }));
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(runs).toBe(2);
  expect(look("conversation-blobs.db", "SELECT id FROM blobs")).toHaveLength(4);
  expect(await store.settlePayloads()).toMatchObject({ removed: 1 });
  expect(await store.settlePayloads()).toMatchObject({ removed: 0 });
  expect(store.read.findPrompt(row.nonce)).toEqual(row);
});

test("without room for payloads large changes are refused, small ones go on, and large ones again when there is room", {
  timeout: 120_000,
}, async () => {
  const filler = fileURLToPath(new URL("./fill-blobs.ts", import.meta.url));
  // The limit on file sizes is the same to SQLite as a disk without room.
  const command = `ulimit -S -f 6000; exec "${process.execPath}" "${filler}" "${rig.root}"`;
  const child = spawn("bash", ["-c", command], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const full = JSON.parse(String((await lines.next()).value));
  expect(full).toEqual({ acknowledged: full.acknowledged, code: "store/unavailable", small: "stored" });
  expect(full.acknowledged).toBeGreaterThan(3);
  execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
  child.stdin.end("there is room\n");
  expect(JSON.parse(String((await lines.next()).value))).toEqual({ kept: full.acknowledged + 1 });
  await once(child, "exit");
});

describe("a damaged file of payloads", () => {
  const count = 40;
  const rowOf = (at: number) => promptRow(`n${at}`, { text: long(`payload ${at} `) });

  async function fill(): Promise<void> {
    const store = open();
    for (let at = 0; at < count; at += 1) await store.transact((tx) => tx.insertPrompt(rowOf(at)));
    await store.close();
  }

  function overwrite(from: number, bytes: number): void {
    const file = openSync(blobPath(), "r+");
    writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
    closeSync(file);
  }

  /** what is read as it was; all else must be refused as damaged */
  function countReadable(store: AgentStore): number {
    let readable = 0;
    for (let at = 0; at < count; at += 1) {
      try {
        expect(store.read.findPrompt(rowOf(at).nonce)).toEqual(rowOf(at));
        readable += 1;
      } catch (error) {
        expect(error).toMatchObject({ code: "store/damaged" });
      }
    }
    return readable;
  }

  test.each([
    ["its first page is gone", () => overwrite(0, 32_768), count],
    ["a page in the middle is gone", () => overwrite(32_768 * 60, 32_768), count - 2],
    ["it is cut off", () => truncateSync(blobPath(), 32_768 * 100), Math.floor(count * 0.5)],
    ["it is something else altogether", () => writeFileSync(blobPath(), "not a database"), 0],
  ])(
    "is made anew from what can be read when %s, and takes payloads again",
    async (_what, damage, atLeast) => {
      await fill();
      damage();
      const store = open();
      const fresh = promptRow("fresh", { text: long("fresh ") });
      const accept = async (): Promise<boolean> =>
        store
          .transact((tx) => tx.insertPrompt(fresh))
          .then(
            () => true,
            () => false,
          );
      await vi.waitUntil(accept, { timeout: 20_000, interval: 200 });
      await store.settlePayloads();
      expect(store.read.findPrompt(fresh.nonce)).toEqual(fresh);
      expect(countReadable(store)).toBeGreaterThanOrEqual(atLeast);
    },
  );
});
