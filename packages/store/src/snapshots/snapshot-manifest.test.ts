import { expect, test } from "vitest";
import { chooseSnapshot } from "./choose-snapshot.ts";
import { sha256Of } from "./hash.ts";
import {
  decodeManifest,
  encodeManifest,
  isSafePath,
  parseManifestKey,
  type SnapshotManifest,
} from "./snapshot-manifest.ts";

const hash = sha256Of("x");
const manifest: SnapshotManifest = {
  format: 1,
  number: 7,
  epoch: 2,
  ownerId: "me",
  takenAtMs: 1_796_056_530_748,
  chunkBytes: 4,
  files: [
    {
      path: "agents/a/store.db",
      kind: "database",
      mode: 0o600,
      bytes: 5,
      sha256: hash,
      chunks: [hash, hash],
    },
  ],
  skipped: [{ path: "agents/b/store.db", reason: "it may not be read", keptEarlier: true }],
};

test("a manifest comes back as it was, under a name that says what it is", () => {
  const { row, bytes } = encodeManifest(manifest);
  expect(row).toMatchObject({ number: 7, epoch: 2, takenAtMs: manifest.takenAtMs });
  expect(parseManifestKey(row.key)).toEqual(row);
  expect(decodeManifest(row, bytes)).toEqual(manifest);
});

test("a manifest whose bytes changed is refused, whatever they say", () => {
  const { row, bytes } = encodeManifest(manifest);
  const changed = Buffer.from(bytes);
  changed[20] = (changed[20] ?? 0) ^ 1;
  expect(() => decodeManifest(row, changed)).toThrow(/not those that were written/u);
});

test.each([
  ["a path that leads out", { path: "agents/../../etc/passwd" }],
  ["a path from the root", { path: "/etc/passwd" }],
  ["too few pieces", { chunks: [hash] }],
  ["a piece that is no hash", { chunks: [hash, "../x"] }],
  ["a size that is none", { bytes: -1 }],
  ["a kind that isn't known", { kind: "link" }],
])("a manifest with %s is refused", (_what, change) => {
  const file = { ...manifest.files[0], ...change };
  const bytes = Buffer.from(JSON.stringify({ ...manifest, files: [file] }));
  const row = parseManifestKey(`manifests/0000000007-2-1-${sha256Of(bytes)}`);
  if (row === undefined) throw new Error("the key is one of ours");
  expect(() => decodeManifest(row, bytes)).toThrow(/isn't a manifest/u);
});

test("two files of one name are refused", () => {
  const bytes = Buffer.from(JSON.stringify({ ...manifest, files: [manifest.files[0], manifest.files[0]] }));
  const row = parseManifestKey(`manifests/0000000007-2-1-${sha256Of(bytes)}`);
  if (row === undefined) throw new Error("the key is one of ours");
  expect(() => decodeManifest(row, bytes)).toThrow(/isn't a manifest/u);
});

test("permissions of others are never restored", () => {
  const { row } = encodeManifest(manifest);
  const open = { ...manifest, files: [{ ...manifest.files[0], mode: 0o4777 }] };
  const bytes = Buffer.from(JSON.stringify(open));
  const key = row.key.replace(/[0-9a-f]{64}$/u, sha256Of(bytes));
  expect(decodeManifest({ ...row, key }, bytes).files[0]?.mode).toBe(0o700);
});

test.each(["", "a//b", "a/./b", "../a", "a/..", "a\\b", "a\0b", "a".repeat(2_000)])(
  "%j is no path below a root",
  (path) => {
    expect(isSafePath(path)).toBe(false);
  },
);

test("a time that is none is refused, not taken for some snapshot", () => {
  const { row } = encodeManifest(manifest);
  expect(() => chooseSnapshot([row], "yesterday-ish")).toThrow(/neither/u);
  expect(chooseSnapshot([row], row.id)).toEqual(row);
  expect(chooseSnapshot([row], String(row.takenAtMs))).toEqual(row);
});
