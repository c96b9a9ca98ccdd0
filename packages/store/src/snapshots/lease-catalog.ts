/**
 * A catalog for storage without conditional writes: a lease that its holder keeps for the time of its work.
 *
 * The lease is written, and after a moment read again: of several that found it free the last one to write holds it.
 * That is weaker than compare-and-set, so nothing depends on it alone: manifests and objects are immutable and are
 * named by their hash, and whoever deletes something looks at the lease right before.
 */
import { setTimeout as delay } from "node:timers/promises";
import { BoxError } from "@sand/protocol";
import type { Claimant } from "./decide-claim.ts";
import { listManifests } from "./list-manifests.ts";
import { storeKeys } from "./object-store.ts";
import type { CatalogDeps, OwnedCatalog } from "./owned-catalog.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";

/** how long a lease holds after it was written, in `ms` */
const leaseMs = 10 * 60_000;
/** others that found the lease free have written theirs by then, in `ms` */
const settleMs = 1_500;

interface Lease {
  readonly epoch: number;
  readonly ownerId: string;
  readonly writeId: string;
  readonly untilMs: number;
}

export async function createLeaseCatalog(deps: CatalogDeps, claimant: Claimant): Promise<OwnedCatalog> {
  const { store } = deps;

  async function readLease(): Promise<Lease | undefined> {
    const found = await store.get(storeKeys.lease);
    return found === undefined ? undefined : parseLease(found.bytes);
  }

  async function take(): Promise<Lease> {
    const before = await readLease();
    const isOthers = before !== undefined && before.ownerId !== claimant.ownerId;
    if (isOthers && !mayFollow(before, claimant, deps.nowMs())) throw refused();
    const lease = {
      epoch: isOthers || before === undefined ? (before?.epoch ?? 0) + 1 : before.epoch,
      ownerId: claimant.ownerId,
      writeId: deps.newId(),
      untilMs: deps.nowMs() + leaseMs,
    };
    deps.noteWrite(lease.writeId, before?.writeId);
    await store.put(storeKeys.lease, Buffer.from(JSON.stringify({ format: 1, ...lease })));
    await store.settle();
    await delay(settleMs);
    await requireHeld(lease);
    return lease;
  }

  async function requireHeld(lease: Lease): Promise<void> {
    const now = await readLease();
    if (now?.writeId !== lease.writeId || deps.nowMs() > lease.untilMs) throw refused();
  }

  const lease = await take();
  let snapshots: readonly SnapshotRow[] = await listManifests(store);

  return {
    epoch: lease.epoch,
    get snapshots() {
      return snapshots;
    },
    async write(next) {
      await requireHeld(lease);
      // The list is what manifests there are: those that are gone from it are deleted as such by the collector.
      snapshots = next;
    },
    confirm: () => requireHeld(lease),
    async release() {
      await requireHeld(lease);
      await store.remove(storeKeys.lease);
    },
  };
}

/** A lease that ran out is nobody's for a root that came from this store, or for a person who says so. */
function mayFollow(lease: Lease, claimant: Claimant, nowMs: number): boolean {
  if (claimant.takeOver) return true;
  const { hydration, store } = claimant;
  const isHeir = hydration.state === "complete" && hydration.from.store === store;
  return isHeir && hydration.from.epoch === lease.epoch && nowMs > lease.untilMs;
}

function parseLease(bytes: Uint8Array): Lease | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (typeof value !== "object" || value === null) return undefined;
    const fields: Readonly<Record<string, unknown>> = { ...value };
    const { epoch, ownerId, writeId, untilMs } = fields;
    if (typeof epoch !== "number" || typeof ownerId !== "string") return undefined;
    if (typeof writeId !== "string" || typeof untilMs !== "number") return undefined;
    return { epoch, ownerId, writeId, untilMs };
  } catch {
    // A lease that can't be read is held by nobody who could prove it.
    return undefined;
  }
}

function refused(): BoxError {
  return new BoxError("box-store/owned-by-other", "another host holds the lease of this box store", {
    hint: "give each data root a store of its own; `sand backup --take-over` takes this one away from the other",
  });
}
