/** The box store over the wire, against a server that misbehaves on demand. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectStore, probeObjectStore, restoreSnapshot, snapshotInto } from "@sand/store/snapshots";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openS3Store } from "../src/box-store/s3-store.ts";
import { type FakeS3, type FakeS3Options, startFakeS3 } from "./fake-s3.ts";

let folder = "";
const opened: AsyncDisposable[] = [];

// A busy machine is slow, and that is no failure.
vi.setConfig({ testTimeout: 240_000 });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-s3-"));
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  options: FakeS3Options,
): Promise<{ readonly server: FakeS3; readonly store: ObjectStore }> {
  const server = await startFakeS3(options);
  const access = {
    endpoint: server.endpoint,
    region: "us-east-1",
    accessKeyId: "planted-key",
    secretAccessKey: "planted-secret",
    sessionToken: null,
  };
  const store = await openS3Store({ bucket: "boxes", prefix: "laptop/", access });
  opened.push(server, { [Symbol.asyncDispose]: () => store.close() });
  return { server, store };
}

const work = (root: string, store: ObjectStore) => ({
  root,
  store,
  retention: { newest: 2, days: 0 },
  takeOver: false,
  nowMs: Date.now,
});

function makeRoot(name = "root"): string {
  const root = join(folder, name);
  mkdirSync(join(root, "agents", "ada", "memory"), { recursive: true });
  writeFileSync(join(root, "agents", "ada", "profile.json"), '{"name":"Ada"}');
  writeFileSync(join(root, "agents", "ada", "memory", "profile.md"), "m".repeat(300_000));
  return root;
}

test.each([
  ["honoured", { kind: "cas", style: "quoted" }],
  ["plain", { kind: "cas", style: "plain" }],
  ["unsupported", { kind: "lease" }],
] as const)("a store whose conditions are %s is used as one", async (conditions, protocol) => {
  const { server, store } = await start({ conditions });
  expect(await probeObjectStore(store)).toEqual(protocol);
  expect([...server.objects.keys()]).toEqual([]);
});

test("a store that overwrites in spite of a condition is refused, and nothing is left in it", async () => {
  const { server, store } = await start({ conditions: "ignored" });
  await expect(snapshotInto(work(makeRoot(), store))).rejects.toMatchObject({ code: "box-store/refused" });
  expect([...server.objects.keys()]).toEqual([]);
});

test("a store that looks at a condition before the upload and not after it is refused", async () => {
  const { store } = await start({ conditions: "late" });
  await expect(probeObjectStore(store)).rejects.toMatchObject({ code: "box-store/refused" });
});

test.each(["honoured", "plain", "unsupported"] as const)(
  "a snapshot into a store whose conditions are %s comes back by hash, and old ones are collected",
  async (conditions) => {
    const { server, store } = await start({ conditions });
    const root = makeRoot();
    for (let round = 0; round < 4; round += 1) {
      writeFileSync(join(root, "agents", "ada", "settings.json"), JSON.stringify({ round }));
      expect((await snapshotInto(work(root, store))).problem).toBeNull();
    }
    const target = join(folder, "restored");
    await restoreSnapshot({ root: target, store, dryRun: false });
    for (const name of ["profile.json", "settings.json", "memory/profile.md"]) {
      const path = join("agents", "ada", name);
      expect(readFileSync(join(target, path)).equals(readFileSync(join(root, path)))).toBe(true);
    }
    const names = [...server.objects.keys()];
    expect(names.filter((key) => key.startsWith("laptop/manifests/")).length).toBe(2);
    // The profile, the memory's two pieces, and the settings of two rounds.
    expect(names.filter((key) => key.startsWith("laptop/objects/")).length).toBe(5);
  },
);

test("two roots that find a store without conditions free don't both hold its lease", async () => {
  const { store } = await start({ conditions: "unsupported" });
  const outcomes = await Promise.allSettled(
    ["one", "two"].map((name) => snapshotInto(work(makeRoot(name), store))),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(1);
});

test("a server that is overloaded for a moment or cuts a line is asked again", async () => {
  const { server, store } = await start({ conditions: "honoured" });
  let asked = 0;
  server.fault = () => {
    asked += 1;
    return asked % 5 === 2 ? (asked % 2 === 0 ? "fail" : "cut") : undefined;
  };
  expect((await snapshotInto(work(makeRoot(), store))).taken.isNew).toBe(true);
});

test("a server that stays away fails the snapshot with a hint, and no secret is told", async () => {
  const { server, store } = await start({ conditions: "honoured" });
  server.fault = (method, key) => (method === "PUT" && key.includes("objects/") ? "fail" : undefined);
  const failure: unknown = await snapshotInto(work(makeRoot(), store)).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "box-store/unavailable" });
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(Object(failure)))).not.toContain(
    "planted-secret",
  );
  expect([...server.objects.keys()].filter((key) => key.includes("manifests/"))).toEqual([]);
});

test("bytes that change on the way are found, and nothing is installed", async () => {
  const { server, store } = await start({ conditions: "honoured" });
  await snapshotInto(work(makeRoot(), store));
  server.fault = (method, key) => (method === "GET" && key.includes("objects/") ? "change" : undefined);
  const target = join(folder, "restored");
  await expect(restoreSnapshot({ root: target, store, dryRun: true })).rejects.toMatchObject({
    code: "box-store/damaged",
  });
  await expect(restoreSnapshot({ root: target, store, dryRun: false })).rejects.toMatchObject({
    code: "box-store/damaged",
  });
  expect(() => readFileSync(join(target, "agents/ada/profile.json"))).toThrow();
});

test("a write of the head whose answer is lost is known as made", async () => {
  const { server, store } = await start({ conditions: "honoured" });
  const root = makeRoot();
  await snapshotInto(work(root, store));
  // The server makes the write and then dies; the retry finds the version changed, by ourselves.
  const lossy: ObjectStore = {
    ...store,
    async replace(replacement) {
      await store.replace(replacement);
      return { kind: "stale" };
    },
  };
  writeFileSync(join(root, "agents", "ada", "settings.json"), "{}");
  expect((await snapshotInto(work(root, lossy))).taken.row.number).toBe(2);
  expect((await snapshotInto(work(root, store))).taken.isNew).toBe(false);
  expect(server.requests.length).toBeGreaterThan(0);
});
