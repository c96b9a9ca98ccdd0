/**
 * Which snapshots a store has and who may add to them.
 *
 * Where compare-and-set works, `head.json` is the one truth: owner, epoch and the list of snapshots, replaced whole and
 * only over the version that was read. Two hosts that claim a store at once: one replaces, the other finds it changed.
 * Where it doesn't, a lease is held for the time of the work, and the list is what manifests there are: they are
 * immutable and never share a name, so the worst that two writers do there is to add both.
 *
 * A write whose answer got lost looks like somebody else's; so each write carries a mark, and a mark that is ours when
 * the head is read again is our success. The mark is noted in the data root before the write.
 */

import { createCasCatalog } from "./cas-catalog.ts";
import type { Claimant } from "./decide-claim.ts";
import { createLeaseCatalog } from "./lease-catalog.ts";
import { listManifests } from "./list-manifests.ts";
import type { ObjectStore } from "./object-store.ts";
import type { CatalogDeps, OwnedCatalog } from "./owned-catalog.ts";
import type { StoreProtocol } from "./probe-object-store.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";
import { readHead } from "./store-head.ts";

export async function claimCatalog(
  deps: CatalogDeps,
  protocol: StoreProtocol,
  claimant: Claimant,
): Promise<OwnedCatalog> {
  if (protocol.kind === "cas") return await createCasCatalog(deps, protocol.style, claimant);
  return await createLeaseCatalog(deps, claimant);
}

/** For a reader, who needs neither conditions nor ownership. */
export async function readCatalog(
  store: ObjectStore,
): Promise<{ readonly epoch: number; readonly snapshots: readonly SnapshotRow[] }> {
  const head = await readHead(store);
  if (head !== undefined) return { epoch: head.head.epoch, snapshots: head.head.snapshots };
  const snapshots = await listManifests(store);
  return { epoch: snapshots.at(-1)?.epoch ?? 0, snapshots };
}
