import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "@sand/node-kit";
import { brandId, type ClientNonce } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPage, readRoot } from "../src/blobs/checkpoint-root.ts";
import { createAgentWorkerPool } from "../src/index.ts";
import { createStoreRig, type StoreRig } from "./store-rig.ts";

const writerScript = fileURLToPath(new URL("./store-payloads-until-killed.ts", import.meta.url));
const entry = fileURLToPath(new URL("../src/blobs/blob-thread.ts", import.meta.url));
/** a writer that doesn't come to its failpoint is killed, in `ms`: a busy machine tries less, and fails nothing */
const writerMaxMs = 20_000;

let rig: StoreRig;
beforeEach(() => {
  rig = createStoreRig();
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

interface Death {
  readonly acknowledged: readonly string[];
  readonly signal: string | null;
}

/** Lets a writer run until it dies at its failpoint, or is killed after so many acknowledgements. */
async function runWriter(
  round: number,
  failpoint: string,
  killAfter = Number.MAX_SAFE_INTEGER,
): Promise<Death> {
  const child = spawn(
    process.execPath,
    [writerScript, rig.root, String(round), String(round * 100_000), failpoint],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  const waited = new AbortController();
  const late = systemClock.sleep(writerMaxMs, waited.signal).then(
    () => child.kill("SIGKILL"),
    () => undefined,
  );
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [nonce = ""] = line.split(" ");
    if (nonce !== "ready") acknowledged.push(nonce);
    if (acknowledged.length === killAfter) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  waited.abort();
  await late;
  return { acknowledged, signal };
}

/** What a fresh look at both files says: all that was acknowledged, and every blob that is named. */
async function judge(acknowledged: readonly string[]): Promise<void> {
  const pool = createAgentWorkerPool({ entry, dataRoot: rig.root, logger: rig.logger });
  const store = rig.open("ada", { blobWorkers: pool });
  const lost = acknowledged.filter((nonce) => {
    const row = store.read.findPrompt(brandId<ClientNonce>(nonce));
    return row === undefined || row.text.length < 70_000;
  });
  expect(lost).toEqual([]);
  const { root } = await store.settlePayloads();
  await store.close();
  await pool.close();
  expect(reachableFrom(root ?? "")).toEqual(everyBlob());
}

function everyBlob(): string[] {
  return inFiles((files) => {
    const rows = files.prepare<unknown[], { id: string; data: Buffer }>("SELECT id, data FROM blobs").all();
    for (const { id, data } of rows) expect(createHash("sha256").update(data).digest("hex")).toBe(id);
    return rows.map(({ id }) => id).sort();
  });
}

/** the root, its pages, and all that they name, which must be what the store names */
function reachableFrom(root: string): string[] {
  return inFiles((files) => {
    const data = files.prepare<unknown[], Buffer>("SELECT data FROM blobs WHERE id = ?").pluck();
    const read = (id: string): Buffer => data.get(id) ?? Buffer.alloc(0);
    const { pages } = readRoot(read(root));
    const payloads = pages.flatMap((page) => readPage(read(page)));
    const named = files
      .prepare<unknown[], string>("SELECT blob FROM store.payloads ORDER BY ordinal")
      .pluck();
    expect(payloads).toEqual(named.all());
    return [root, ...pages, ...payloads].sort();
  });
}

function inFiles<T>(look: (files: SqliteDatabase.Database) => T): T {
  const files = new SqliteDatabase(join(rig.agentFolder("ada"), "conversation-blobs.db"));
  try {
    files.prepare("ATTACH ? AS store").run(join(rig.agentFolder("ada"), "store.db"));
    return look(files);
  } finally {
    files.close();
  }
}

test.each(["blob.put.before", "blob.put.after", "blob.gc.before", "blob.gc.after"])(
  "a death at %s loses no acknowledged payload, and what nothing names is collected afterwards",
  async (point) => {
    const acknowledged: string[] = [];
    for (const [round, hit] of [1, 4].entries()) {
      const death = await runWriter(round + 1, `${point}:${hit}`);
      expect(death.signal).toBe("SIGKILL");
      acknowledged.push(...death.acknowledged);
    }
    await judge(acknowledged);
  },
);

test("deaths at random moments lose no acknowledged payload", async () => {
  const acknowledged: string[] = [];
  const lastBeginMs = Date.now() + 40_000;
  for (let round = 1; round <= 6 && Date.now() < lastBeginMs; round += 1) {
    const death = await runWriter(round, "", 1 + Math.floor(Math.random() * 20));
    acknowledged.push(...death.acknowledged);
  }
  expect(acknowledged.length).toBeGreaterThan(0);
  await judge(acknowledged);
});
