/**
 * Deletes from a store what no listed snapshot can reach.
 *
 * It deletes nothing before it has read every listed manifest and found every object that they name: a manifest that
 * can't be read could name anything, and a store that lost an object must not lose more. The ownership is confirmed
 * right before, because another owner's objects may be there before its manifest is.
 */
import { BoxError } from "@sand/protocol";
import { listManifests } from "./list-manifests.ts";
import { type ObjectStore, storeKeys } from "./object-store.ts";
import type { OwnedCatalog } from "./owned-catalog.ts";
import { readManifest } from "./read-manifest.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";

export interface Collected {
  readonly manifests: number;
  readonly objects: number;
  readonly bytes: number;
}

export async function collectGarbage(store: ObjectStore, catalog: OwnedCatalog): Promise<Collected> {
  const reachable = await findReachable(store, catalog.snapshots);
  const unreachable: { readonly key: string; readonly bytes: number }[] = [];
  const missing = new Set(reachable);
  for await (const object of store.list(storeKeys.objects)) {
    missing.delete(object.key);
    if (!reachable.has(object.key)) unreachable.push(object);
  }
  if (missing.size > 0) {
    throw new BoxError("box-store/damaged", `${missing.size} objects of the box store are missing`, {
      hint: "nothing was deleted; `sand restore --dry-run` tells which snapshots are whole",
    });
  }
  const listed = new Set(catalog.snapshots.map(({ key }) => key));
  const retired = (await listManifests(store)).filter(({ key }) => !listed.has(key));
  await catalog.confirm();
  for (const { key } of retired) await store.remove(key);
  for (const { key } of unreachable) await store.remove(key);
  await store.tidy();
  return {
    manifests: retired.length,
    objects: unreachable.length,
    bytes: unreachable.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

async function findReachable(store: ObjectStore, rows: readonly SnapshotRow[]): Promise<ReadonlySet<string>> {
  const reachable = new Set<string>();
  for (const row of rows) {
    const { files } = await readManifest(store, row);
    for (const { chunks } of files) for (const sha256 of chunks) reachable.add(storeKeys.object(sha256));
  }
  return reachable;
}

/** Everything goes, the list first, so that no list names what is gone. The owner's count stays. */
export async function clearStore(store: ObjectStore, catalog: OwnedCatalog): Promise<Collected> {
  await catalog.write([]);
  const collected = await collectGarbage(store, catalog);
  await catalog.release();
  return collected;
}
