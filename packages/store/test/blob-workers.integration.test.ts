/** The threads of blobs: how many there are, when they end, and that their end by whatever cause harms nobody. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PoolLimits } from "../src/blobs/agent-worker-pool.ts";
import { type AgentWorkerPool, createAgentWorkerPool } from "../src/index.ts";
import { createStoreRig, promptRow, type StoreRig } from "./store-rig.ts";

const entry = fileURLToPath(new URL("../src/blobs/blob-thread.ts", import.meta.url));
const badThread = fileURLToPath(new URL("./end-with-open-database.ts", import.meta.url));
const dyingThread = fileURLToPath(new URL("./dying-blob-thread.ts", import.meta.url));
/** how often each way of ending is tried; the proof makes it 250 */
const exitsOfEach = Number(process.env.SAND_TEST_WORKER_EXITS ?? "6");
const waitMs = 20_000;

let rig: StoreRig;
const pools: AgentWorkerPool[] = [];
beforeEach(() => {
  rig = createStoreRig();
});
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
  await rig[Symbol.asyncDispose]();
});

function createPool(limits: Partial<PoolLimits> = {}, file = entry): AgentWorkerPool {
  const pool = createAgentWorkerPool({ entry: file, dataRoot: rig.root, logger: rig.logger, limits });
  pools.push(pool);
  return pool;
}

function pathOf(name: string): string {
  const folder = join(rig.root, "agents", name);
  mkdirSync(folder, { recursive: true });
  return join(folder, "conversation-blobs.db");
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (data: Uint8Array | undefined): string => new TextDecoder().decode(data);

async function putAndGet(pool: AgentWorkerPool, name: string): Promise<string> {
  const ids = await pool.call(pathOf(name), "put", { blobs: [bytes(`payload of ${name}`)] });
  const [data] = await pool.call(pathOf(name), "get", { ids });
  return textOf(data);
}

test("more databases than places are served in turn, one thread each at most", async () => {
  const pool = createPool({ capacity: 2 });
  const names = ["a", "b", "c", "d", "e"];
  const most: number[] = [];
  const answers = await Promise.all(
    names.map(async (name) => {
      const answer = await putAndGet(pool, name);
      most.push(pool.paths().length);
      return answer;
    }),
  );
  expect(answers).toEqual(names.map((name) => `payload of ${name}`));
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});

test("calls to one database are answered in the order in which they were made", async () => {
  const pool = createPool();
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      if (at % 7 === 3) await pool.call(pathOf("a"), "list", { after: 0, limit: 1 });
      else await pool.call(pathOf("a"), "put", { blobs: [bytes(`blob ${at}`)] });
      order.push(at);
    }),
  );
  expect(order).toEqual(Array.from({ length: 50 }, (_, at) => at));
});

test("an idle thread settles what is to be settled, then it closes its database and ends", async () => {
  const pool = createPool({ idleMs: 30 });
  let settled = 0;
  pool.onIdle(pathOf("a"), async () => {
    settled += 1;
    await pool.call(pathOf("a"), "list", { after: null, limit: 1 });
  });
  expect(await putAndGet(pool, "a")).toBe("payload of a");
  await vi.waitUntil(() => pool.paths().length === 0, { timeout: waitMs });
  expect(settled).toBe(1);
  // A database that was closed in order leaves no log.
  expect(readdirSync(join(rig.root, "agents", "a"))).toEqual(["conversation-blobs.db"]);
  expect(await putAndGet(pool, "a")).toBe("payload of a");
});

test("a released database is closed after what was asked before, and its folder can go", async () => {
  const pool = createPool();
  const asked = putAndGet(pool, "a");
  await pool.call(pathOf("a"), "put", { blobs: [bytes("more")] });
  await pool.release(pathOf("a"));
  await asked.catch(() => undefined);
  expect(readdirSync(join(rig.root, "agents", "a"))).toEqual(["conversation-blobs.db"]);
});

test("what goes beyond the limits is refused as overload, and the rest is served", async () => {
  const pool = createPool({ capacity: 1, waitersMax: 1, bytesMax: 1_000 });
  const first = putAndGet(pool, "a");
  const second = putAndGet(pool, "b");
  await expect(putAndGet(pool, "c")).rejects.toMatchObject({ code: "host/overloaded" });
  await expect(pool.call(pathOf("a"), "put", { blobs: [new Uint8Array(1_001)] })).rejects.toMatchObject({
    code: "host/overloaded",
  });
  expect(await Promise.all([first, second])).toEqual(["payload of a", "payload of b"]);
});

test("a closed pool refuses, and leaves no thread", async () => {
  const pool = createPool();
  await putAndGet(pool, "a");
  await pool.close();
  expect(pool.paths()).toEqual([]);
  await expect(putAndGet(pool, "a")).rejects.toMatchObject({ code: "store/unavailable" });
});

test("an agent's folder that is gone isn't made again by its blobs", async () => {
  const pool = createPool();
  const path = join(rig.root, "agents", "gone", "conversation-blobs.db");
  await expect(pool.call(path, "put", { blobs: [bytes("x")] })).rejects.toMatchObject({
    code: "store/unavailable",
  });
  expect(readdirSync(rig.root)).not.toContain("agents");
});

test("a file that a killed process left empty takes blobs like a new one, and its lost blobs are missed", async () => {
  const pool = createPool();
  writeFileSync(pathOf("a"), "");
  expect(await putAndGet(pool, "a")).toBe("payload of a");
  await pool.release(pathOf("a"));
  const [id] = await pool.call(pathOf("b"), "put", { blobs: [bytes("lost")] });
  await pool.release(pathOf("b"));
  writeFileSync(pathOf("b"), "");
  await expect(pool.call(pathOf("b"), "get", { ids: [id ?? ""] })).rejects.toMatchObject({
    code: "store/damaged",
  });
});

test("a database that was written over by something else is damage, for its own agent only", async () => {
  const pool = createPool();
  await putAndGet(pool, "a");
  await pool.release(pathOf("a"));
  const database = new SqliteDatabase(pathOf("a"));
  database.pragma("user_version = 99");
  database.close();
  await expect(putAndGet(pool, "a")).rejects.toMatchObject({ code: "store/newer-schema" });
  expect(await putAndGet(pool, "b")).toBe("payload of b");
});

test("a thread that gives no answer is ended as the last resort, and its calls fail", async () => {
  const pool = createPool({ silenceMaxMs: 200, endMaxMs: 200 }, badThread);
  await expect(pool.call(pathOf("hang"), "list", { after: null, limit: 1 })).rejects.toMatchObject({
    code: "store/unavailable",
  });
});

test.each(["throw", "exit", "reject"])(
  "a thread that ends by %s fails what it was asked, and the next one serves",
  async (way) => {
    const bad = createPool({}, badThread);
    await expect(bad.call(pathOf(way), "list", { after: null, limit: 1 })).rejects.toMatchObject({
      code: "store/unavailable",
    });
    expect(await putAndGet(createPool(), way)).toBe(`payload of ${way}`);
  },
);

test("threads that end in the middle of a transaction harm nobody, however often and by whatever way", {
  timeout: 3_600_000,
}, async () => {
  const path = pathOf("exits");
  const ended: string[] = [];
  for (let round = 0; round < exitsOfEach; round += 1) {
    for (const way of ["throw", "exit", "reject", "terminate"]) {
      const worker = new Worker(badThread, { workerData: { path, way }, execArgv: [], stderr: true });
      worker.on("error", () => undefined);
      await new Promise<void>((resolve) => {
        worker.once("exit", () => resolve());
        worker.on("message", () => void (way === "terminate" && worker.terminate()));
      });
      ended.push(way);
    }
  }
  expect(ended).toHaveLength(exitsOfEach * 4);
  // No lock is left behind, and nothing of what wasn't committed is seen.
  const pool = createPool();
  expect(await putAndGet(pool, "exits")).toBe("payload of exits");
  expect((await pool.call(path, "list", { after: 0, limit: 9 })).blobs).toHaveLength(1);
});

test("threads that die at random moments lose nothing that was acknowledged, and what they refused can be sent again", {
  timeout: 300_000,
}, async () => {
  const store = rig.open("ada", { blobWorkers: createPool({}, dyingThread) });
  const textOf = (at: number): string => `${at} and on `.repeat(8_000);
  const lastBeginMs = Date.now() + 60_000;
  let accepted = 0;
  let refused = 0;
  while (accepted < 60 && Date.now() < lastBeginMs) {
    const row = promptRow(`n${accepted}`, { text: textOf(accepted) });
    const kept = await store
      .transact((tx) => tx.insertPrompt(row))
      .then(
        () => true,
        () => false,
      );
    if (kept) accepted += 1;
    else refused += 1;
  }
  expect(accepted).toBeGreaterThan(0);
  expect({ refused: refused > 0, healthy: store.healthy }).toEqual({ refused: true, healthy: true });
  await store.close();
  const again = rig.open("ada");
  for (let at = 0; at < accepted; at += 1)
    expect(again.read.findPrompt(brandId(`n${at}`))?.text === textOf(at)).toBe(true);
});
