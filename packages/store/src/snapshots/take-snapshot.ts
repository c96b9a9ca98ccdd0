/**
 * Takes one snapshot of a data root into a store that the caller owns.
 *
 * Order: the pieces, then the manifest that names them, then the list that names the manifest. Killed anywhere, the
 * store has the snapshots that it had, and some objects that nobody names, which the collector finds. A snapshot that
 * would equal the one before isn't written.
 */
import { join } from "node:path";
import { failpoint } from "@sand/node-kit";
import { createChunkUploads } from "./chunk-uploads.ts";
import { readSeenFiles, writeSeenFiles } from "./file-signs.ts";
import { findSnapshotFiles } from "./find-snapshot-files.ts";
import { snapshotLimits } from "./limits.ts";
import type { ObjectStore } from "./object-store.ts";
import type { OwnedCatalog } from "./owned-catalog.ts";
import { planRetention, type RetentionPolicy } from "./plan-retention.ts";
import { type Gathered, readGroup } from "./read-group.ts";
import { readManifest } from "./read-manifest.ts";
import { boxStoreFolder, targetFile } from "./root-state.ts";
import { encodeManifest, type SnapshotManifest, type SnapshotRow } from "./snapshot-manifest.ts";

export interface TakeSnapshotDeps {
  readonly root: string;
  readonly ownerId: string;
  readonly store: ObjectStore;
  readonly catalog: OwnedCatalog;
  readonly retention: RetentionPolicy;
  readonly nowMs: () => number;
  /** the store lost objects: all pieces are read and brought again */
  readonly hasLosses: boolean;
}

export interface TakenSnapshot {
  /** false when nothing had changed since the one before, which is named then */
  readonly isNew: boolean;
  readonly row: SnapshotRow;
  readonly manifest: SnapshotManifest;
  readonly uploadedObjects: number;
  readonly uploadedBytes: number;
  /** whether some snapshot left the list, so that the collector has something to do */
  readonly retired: boolean;
}

export async function takeSnapshot(deps: TakeSnapshotDeps): Promise<TakenSnapshot> {
  const { root, store, catalog } = deps;
  const last = catalog.snapshots.at(-1);
  const before = last === undefined ? undefined : await readManifest(store, last);
  const seenPath = targetFile(root, store.address, "seen.json");
  const seen = readSeenFiles(seenPath);
  const uploads = createChunkUploads({
    store,
    known: new Set(deps.hasLosses ? [] : before?.files.flatMap(({ chunks }) => chunks)),
    stageFolder: join(boxStoreFolder(root), "stage"),
  });
  const gathered: Gathered = { files: [], signs: new Map(), skipped: [] };
  const read = {
    root,
    uploads,
    earlier: new Map(before?.files.map((file) => [file.path, file])),
    signs: seen.manifestKey === last?.key && !deps.hasLosses ? seen.signs : new Map<string, string>(),
    nowMs: deps.nowMs,
  };
  for (const group of findSnapshotFiles(root)) await readGroup(read, group, gathered);
  await uploads.finish();
  failpoint("snapshot.pieces");

  const facts = { uploadedObjects: uploads.objects, uploadedBytes: uploads.bytes };
  if (last !== undefined && before !== undefined && isSame(before, gathered)) {
    writeSeenFiles(seenPath, { manifestKey: last.key, signs: gathered.signs });
    return { isNew: false, row: last, manifest: before, ...facts, retired: false };
  }
  const manifest = describe(deps, gathered, last);
  const { row, bytes } = encodeManifest(manifest);
  await store.put(row.key, bytes);
  await store.settle();
  failpoint("snapshot.manifest");
  const all = [...catalog.snapshots, row];
  const kept = planRetention(all, deps.retention, deps.nowMs());
  await catalog.write(kept);
  failpoint("snapshot.listed");
  writeSeenFiles(seenPath, { manifestKey: row.key, signs: gathered.signs });
  return { isNew: true, row, manifest, ...facts, retired: kept.length < all.length };
}

function describe(
  deps: TakeSnapshotDeps,
  gathered: Gathered,
  last: SnapshotRow | undefined,
): SnapshotManifest {
  return {
    format: 1,
    number: (last?.number ?? 0) + 1,
    epoch: deps.catalog.epoch,
    ownerId: deps.ownerId,
    takenAtMs: deps.nowMs(),
    chunkBytes: snapshotLimits.chunkBytes,
    files: gathered.files,
    skipped: gathered.skipped,
  };
}

function isSame(before: SnapshotManifest, { files, skipped }: Gathered): boolean {
  return (
    JSON.stringify(before.files) === JSON.stringify(files) &&
    JSON.stringify(before.skipped) === JSON.stringify(skipped)
  );
}
