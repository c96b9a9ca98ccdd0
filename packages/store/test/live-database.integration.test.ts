/** Databases that are read while another process writes them: each reading is one commit, whole. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDirectoryStore } from "../src/snapshots/directory-store.ts";
import { snapshotLimits } from "../src/snapshots/limits.ts";
import { openPin } from "../src/snapshots/live-database.ts";
import { restoreSnapshot } from "../src/snapshots/restore-snapshot.ts";
import { snapshotInto } from "../src/snapshots/work-on-store.ts";

const pairScript = fileURLToPath(new URL("./write-pair-until-ended.ts", import.meta.url));
const writerScript = fileURLToPath(new URL("./write-until-ended.ts", import.meta.url));

let folder = "";
const children: ChildProcess[] = [];

// A busy machine is slow, and that is no failure.
vi.setConfig({ testTimeout: 240_000 });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-live-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) await end(child, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

function startWriter(path: string, seed: number): Promise<ChildProcess> {
  return startProcess(writerScript, path, `${seed}`);
}

async function startProcess(...words: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

function copyPinned(path: string): Buffer {
  using pin = openPin(path);
  pin.pin();
  const database = pin.database();
  const parts: Buffer[] = [];
  for (let at = 0; at < database.bytes; at += snapshotLimits.chunkBytes) {
    parts.push(database.read(at, snapshotLimits.chunkBytes));
  }
  return Buffer.concat(parts);
}

function judge(bytes: Buffer, name: string): { readonly verdict: unknown; readonly sum: unknown } {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const copy = new SqliteDatabase(path);
  try {
    return {
      verdict: copy.pragma("integrity_check", { simple: true }),
      sum: copy.prepare("SELECT sum(amount) FROM amounts").pluck().get(),
    };
  } finally {
    copy.close();
  }
}

test("a database that is written to and checkpointed all the time is read as one commit, each time", async () => {
  const path = join(folder, "store.db");
  await startWriter(path, 7);
  for (let round = 0; round < 60; round += 1) {
    expect(judge(copyPinned(path), `copy-${round}.db`)).toEqual({ verdict: "ok", sum: 100_000 });
  }
});

test("what a store says of its payloads holds in the database beside it", async () => {
  const root = join(folder, "root");
  const agent = join(root, "agents", "ada");
  mkdirSync(agent, { recursive: true });
  const names = ["store.db", "conversation-blobs.db"];
  await startProcess(pairScript, ...names.map((name) => join(agent, name)));
  const store = openDirectoryStore({ path: join(folder, "store") });
  const retention = { newest: 100, days: 0 };
  for (let round = 0; round < 15; round += 1) {
    const work = { root, store, retention, takeOver: false, nowMs: Date.now };
    const { taken } = await snapshotInto(work);
    expect(taken.manifest.skipped).toEqual([]);
    const copy = join(folder, `copy-${round}`);
    await restoreSnapshot({ root: copy, store, dryRun: false });
    const database = new SqliteDatabase(join(copy, "agents", "ada", "store.db"));
    database.prepare("ATTACH ? AS beside").run(join(copy, "agents", "ada", "conversation-blobs.db"));
    const held = database.prepare("SELECT count(*) FROM root JOIN beside.blobs USING (id)").pluck().get();
    database.close();
    expect(held).toBe(1);
  }
});

test("a database that nobody has open is read as its file is", async () => {
  const path = join(folder, "store.db");
  const writer = await startWriter(path, 3);
  await end(writer, "SIGTERM");
  const bytes = copyPinned(path);
  expect(bytes.equals(readFileSync(path))).toBe(true);
});

test("what a killed writer committed and left in its log is part of the reading", async () => {
  const path = join(folder, "store.db");
  const writer = await startWriter(path, 5);
  await end(writer, "SIGKILL");
  expect(judge(copyPinned(path), "copy.db")).toEqual({ verdict: "ok", sum: 100_000 });
});

test("a log with a torn end is read up to its last commit", async () => {
  const path = join(folder, "store.db");
  const writer = await startWriter(path, 11);
  await end(writer, "SIGKILL");
  const wal = readFileSync(`${path}-wal`);
  writeFileSync(`${path}-wal`, wal.subarray(0, Math.max(32, wal.length - 5_000)));
  rmSync(`${path}-shm`, { force: true });
  expect(judge(copyPinned(path), "copy.db").verdict).toBe("ok");
});
