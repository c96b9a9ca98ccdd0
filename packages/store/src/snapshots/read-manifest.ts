/** Fetches one manifest and proves that it is the one that was written. */
import { BoxError } from "@sand/protocol";
import { snapshotLimits } from "./limits.ts";
import type { ObjectStore } from "./object-store.ts";
import { decodeManifest, type SnapshotManifest, type SnapshotRow } from "./snapshot-manifest.ts";

export async function readManifest(store: ObjectStore, row: SnapshotRow): Promise<SnapshotManifest> {
  const found = await store.get(row.key);
  if (found === undefined || found.bytes.length > snapshotLimits.manifestMaxBytes) {
    throw new BoxError("box-store/damaged", `the manifest of snapshot ${row.id} is missing`, {
      hint: "choose another snapshot with --at; --list shows them",
    });
  }
  return decodeManifest(row, found.bytes);
}
