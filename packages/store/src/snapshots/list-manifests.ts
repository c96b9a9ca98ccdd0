/** The manifests that lie in a store, in the order of their numbers. */
import { type ObjectStore, storeKeys } from "./object-store.ts";
import { parseManifestKey, type SnapshotRow } from "./snapshot-manifest.ts";

export async function listManifests(store: ObjectStore): Promise<readonly SnapshotRow[]> {
  const rows: SnapshotRow[] = [];
  for await (const { key } of store.list(storeKeys.manifests)) {
    const row = parseManifestKey(key);
    if (row !== undefined) rows.push(row);
  }
  return rows.sort((left, right) => left.number - right.number || left.takenAtMs - right.takenAtMs);
}
