/** Snapshots of real data roots into directories, and back. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDirectoryStore } from "../src/snapshots/directory-store.ts";
import { sha256Of } from "../src/snapshots/hash.ts";
import type { ObjectStore } from "../src/snapshots/object-store.ts";
import { restoreSnapshot } from "../src/snapshots/restore-snapshot.ts";
import { readCatalog } from "../src/snapshots/snapshot-catalog.ts";
import { clearOwned, snapshotInto } from "../src/snapshots/work-on-store.ts";

let folder = "";
let store: ObjectStore;
let nowMs = Date.now();

// A busy machine is slow, and that is no failure.
vi.setConfig({ testTimeout: 240_000 });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-box-store-"));
  store = openDirectoryStore({ path: join(folder, "store") });
  nowMs = Date.now();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const retention = { newest: 3, days: 0 };
const take = (root: string, more: { readonly takeOver?: boolean; readonly into?: ObjectStore } = {}) =>
  snapshotInto({
    root,
    store: more.into ?? store,
    retention,
    takeOver: more.takeOver ?? false,
    nowMs: () => {
      nowMs += 1_000;
      return nowMs;
    },
  });
const restore = (root: string, more: { readonly at?: string; readonly dryRun?: boolean } = {}) =>
  restoreSnapshot({ root, store, dryRun: false, ...more });

function write(root: string, path: string, text: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text, { mode: 0o600 });
}

function makeRoot(name: string, agents = 2): string {
  const root = join(folder, name);
  for (let index = 0; index < agents; index += 1) {
    const agent = `agents/agent-${index}`;
    write(root, `${agent}/profile.json`, JSON.stringify({ name: `Agent ${index}` }));
    write(root, `${agent}/memory/profile.md`, `I am agent ${index}.\n`);
    write(root, `${agent}/automations/daily/automation.json`, "{}");
    const database = new SqliteDatabase(join(root, agent, "store.db"));
    database.pragma("journal_mode = WAL");
    database.exec("CREATE TABLE lines (id INTEGER PRIMARY KEY, body BLOB) STRICT");
    database.close();
    addLines(root, `agent-${index}`, 40);
  }
  write(root, "workflows/tidy/SKILL.md", "---\nname: tidy\n---\n");
  write(root, "host-settings.json", "{}");
  write(root, "gateway.token", "not to be copied");
  return root;
}

function addLines(root: string, agent: string, count: number, bytes = 3_000): void {
  const database = new SqliteDatabase(join(root, "agents", agent, "store.db"));
  const add = database.prepare("INSERT INTO lines (body) VALUES (randomblob(?))");
  for (let index = 0; index < count; index += 1) add.run(bytes);
  database.close();
}

/** Every file that belongs into a snapshot, by its hash. */
function fingerprint(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    const path = join(root, name);
    const isLeftOut = /^(?:box-store|gateway\.token)|-(?:wal|shm)$/u.test(name);
    if (!isLeftOut && statSync(path).isFile()) found[name] = sha256Of(readFileSync(path));
  }
  return found;
}

const objectsOf = (): string[] => readdirSync(join(folder, "store", "objects")).sort();

test("a restore on an empty machine equals the source by hash", async () => {
  const root = makeRoot("a");
  const { taken } = await take(root);
  const target = join(folder, "b");
  const restored = await restore(target);
  expect(restored.row).toEqual(taken.row);
  expect(restored.damaged).toEqual([]);
  expect(fingerprint(target)).toEqual(fingerprint(root));
  expect(statSync(join(target, "agents/agent-0/store.db")).mode & 0o777).toBe(0o600);
});

test("tokens are in no snapshot", async () => {
  const { taken } = await take(makeRoot("a"));
  expect(taken.manifest.files.map(({ path }) => path)).not.toContain("gateway.token");
});

test("what didn't change isn't copied again, and a large database that changed a little is copied a little", async () => {
  const root = makeRoot("a", 1);
  addLines(root, "agent-0", 4_000, 4_000);
  const first = (await take(root)).taken;
  expect(first.uploadedBytes).toBeGreaterThan(12_000_000);
  const idle = (await take(root)).taken;
  expect([idle.isNew, idle.uploadedObjects]).toEqual([false, 0]);
  addLines(root, "agent-0", 1);
  const second = (await take(root)).taken;
  expect(second.isNew).toBe(true);
  expect(second.uploadedBytes).toBeLessThan(2_500_000);
});

test("a file that is gone from the root is gone from the next snapshot and stays in the one before", async () => {
  const root = makeRoot("a");
  const first = (await take(root)).taken;
  rmSync(join(root, "agents/agent-1"), { recursive: true });
  await take(root);
  await restore(join(folder, "newest"));
  await restore(join(folder, "before"), { at: first.row.id });
  expect(readdirSync(join(folder, "newest", "agents"))).toEqual(["agent-0"]);
  expect(readdirSync(join(folder, "before", "agents"))).toEqual(["agent-0", "agent-1"]);
});

test("a time names the newest snapshot that was taken at or before it", async () => {
  const root = makeRoot("a");
  const first = (await take(root)).taken;
  write(root, "host-settings.json", '{"userTimeZone":"UTC"}');
  const second = (await take(root)).taken;
  const at = (timeMs: number) =>
    restore(join(folder, "x"), { at: new Date(timeMs).toISOString(), dryRun: true });
  expect((await at(second.row.takenAtMs)).row.id).toBe(second.row.id);
  expect((await at(second.row.takenAtMs - 1)).row.id).toBe(first.row.id);
  await expect(at(first.row.takenAtMs - 1)).rejects.toMatchObject({ code: "box-store/not-found" });
});

test("the collector deletes what no listed snapshot reaches, and nothing else", async () => {
  const root = makeRoot("a");
  for (let round = 0; round < 6; round += 1) {
    write(root, "host-settings.json", JSON.stringify({ round }));
    write(root, "agents/agent-0/memory/profile.md", `round ${round}`);
    await take(root);
  }
  const { snapshots } = await readCatalog(store);
  expect(snapshots.map(({ number }) => number)).toEqual([4, 5, 6]);
  const needed = new Set<string>();
  for (const { id } of snapshots) {
    const { manifest } = await restore(join(folder, "x"), { at: id, dryRun: true });
    for (const { chunks } of manifest.files) for (const chunk of chunks) needed.add(chunk);
  }
  expect(objectsOf()).toEqual([...needed].sort());
});

test("a collector that misses an object deletes nothing, and the next snapshot brings it again", async () => {
  const root = makeRoot("a");
  for (let round = 0; round < 3; round += 1) {
    write(root, "host-settings.json", JSON.stringify({ round }));
    await take(root);
  }
  const { manifest } = (await take(root)).taken;
  const lost = manifest.files.find(({ path }) => path.endsWith("store.db"))?.chunks[0] ?? "";
  rmSync(join(folder, "store", "objects", lost));
  const before = objectsOf();
  write(root, "host-settings.json", "{}\n");
  expect((await take(root)).problem).toMatchObject({ code: "box-store/damaged" });
  expect(before.every((name) => objectsOf().includes(name))).toBe(true);
  await take(root);
  expect(objectsOf()).toContain(lost);
  await restore(join(folder, "b"));
  expect(fingerprint(join(folder, "b"))).toEqual(fingerprint(root));
});

test("an object that isn't what was written is found when it is read, and nothing of it is installed", async () => {
  await take(makeRoot("a"));
  const name = objectsOf()[0] ?? "";
  writeFileSync(join(folder, "store", "objects", name), "something else");
  const target = join(folder, "b");
  await expect(restore(target)).rejects.toMatchObject({ code: "box-store/damaged" });
  expect(() => statSync(target)).toThrow();
});

test("a root that isn't empty is refused", async () => {
  await take(makeRoot("a"));
  await expect(restore(makeRoot("b"))).rejects.toMatchObject({ code: "box-store/incomplete" });
});

test("an interrupted restore is partial, isn't backed up, deletes nothing, and is gone on with", async () => {
  const root = makeRoot("a");
  await take(root);
  const before = objectsOf();
  const target = join(folder, "b");
  let reads = 0;
  const broken: ObjectStore = {
    ...store,
    get(key, range) {
      reads += 1;
      if (reads > 6) throw new Error("the line is cut");
      return store.get(key, range);
    },
  };
  await expect(restoreSnapshot({ root: target, store: broken, dryRun: false })).rejects.toThrow(
    "the line is cut",
  );
  const stage = join(folder, readdirSync(folder).find((name) => name.startsWith(".b.restore")) ?? "");
  await expect(take(stage, { takeOver: true })).rejects.toMatchObject({ code: "box-store/incomplete" });
  expect(objectsOf()).toEqual(before);
  await restore(target);
  expect(fingerprint(target)).toEqual(fingerprint(root));
});

test("another root can't write to a store that has an owner, one that was restored from it follows the owner, who can't go on", async () => {
  const root = makeRoot("a");
  await take(root);
  await expect(take(makeRoot("stranger"))).rejects.toMatchObject({ code: "box-store/owned-by-other" });
  const heir = join(folder, "heir");
  await restore(heir);
  write(heir, "host-settings.json", '{"hasSeenOnboarding":true}');
  expect((await take(heir)).taken.manifest.epoch).toBe(2);
  await expect(take(root)).rejects.toMatchObject({ code: "box-store/owned-by-other" });
});

test("a copy of a root is noticed where both write to one store", async () => {
  const root = makeRoot("a");
  await take(root);
  const copy = join(folder, "copy");
  cpSync(root, copy, { recursive: true });
  write(root, "host-settings.json", '{"a":1}');
  await take(root);
  write(copy, "host-settings.json", '{"b":1}');
  await expect(take(copy)).rejects.toMatchObject({ code: "box-store/owned-by-other" });
});

test("a damaged database is carried over from the snapshot before, and the manifest says so", async () => {
  const root = makeRoot("a");
  const first = (await take(root)).taken;
  writeFileSync(
    join(root, "agents/agent-0/store.db"),
    "this is no database at all, whatever its name says".repeat(40),
  );
  const second = (await take(root)).taken;
  const path = "agents/agent-0/store.db";
  expect(second.manifest.skipped).toMatchObject([{ path, keptEarlier: true }]);
  const fileOf = (manifest: typeof first.manifest) => manifest.files.find((file) => file.path === path);
  expect(fileOf(second.manifest)).toEqual(fileOf(first.manifest));
});

test("clearing leaves no object and gives the store up for another root", async () => {
  await take(makeRoot("a"));
  await clearOwned({ root: join(folder, "a"), store, retention, takeOver: false, nowMs: Date.now });
  expect(objectsOf()).toEqual([]);
  expect((await take(makeRoot("b"))).taken.manifest.number).toBe(1);
});

test("a second snapshot of the same root at the same time is refused", async () => {
  const root = makeRoot("a");
  const [first, second] = await Promise.allSettled([take(root), take(root)]);
  const failed = [first, second].filter((outcome) => outcome.status === "rejected");
  expect(failed.length).toBe(1);
  expect(failed[0]?.reason).toMatchObject({ code: "box-store/busy" });
});
