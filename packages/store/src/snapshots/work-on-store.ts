/**
 * What a data root does with a box store: a snapshot, a look, or giving everything up. One process at a time for each
 * root, and only after the store has shown how it treats conditions.
 */
import { randomUUID } from "node:crypto";
import { BoxError } from "@sand/protocol";
import { type Collected, clearStore, collectGarbage } from "./collect-garbage.ts";
import { lockBoxStores } from "./lock-box-stores.ts";
import type { ObjectStore } from "./object-store.ts";
import type { OwnedCatalog } from "./owned-catalog.ts";
import type { RetentionPolicy } from "./plan-retention.ts";
import { probeObjectStore, type StoreProtocol } from "./probe-object-store.ts";
import { refusePartialRoot } from "./refuse-partial-root.ts";
import { readRootState, readTargetState, writeRootState, writeTargetState } from "./root-state.ts";
import { claimCatalog } from "./snapshot-catalog.ts";
import { type TakenSnapshot, takeSnapshot } from "./take-snapshot.ts";

export interface StoreWork {
  readonly root: string;
  readonly store: ObjectStore;
  readonly retention: RetentionPolicy;
  /** a person said that the store is to be taken from its owner */
  readonly takeOver: boolean;
  readonly nowMs: () => number;
}

/** how long it is believed what a store does with conditions, in `ms` */
const probedMaxMs = 86_400_000;

export interface SnapshotWork {
  readonly taken: TakenSnapshot;
  readonly protocol: StoreProtocol;
  /** why old snapshots couldn't be taken away; the new one is whole all the same */
  readonly problem: BoxError | null;
}

/** Takes a snapshot, and collects what no snapshot needs any more. */
export async function snapshotInto(work: StoreWork): Promise<SnapshotWork> {
  using _lock = lockBoxStores(work.root);
  const { catalog, ownerId, protocol } = await claim(work);
  const { root, store, retention, nowMs } = work;
  const { hasLosses } = readTargetState(root, store.address);
  const taken = await takeSnapshot({ root, ownerId, store, catalog, retention, nowMs, hasLosses });
  if (hasLosses)
    writeTargetState(root, store.address, { ...readTargetState(root, store.address), hasLosses: false });
  const problem = taken.retired ? await collect(work, catalog) : null;
  return { taken, protocol, problem };
}

/** A store that lost something gets it again with the next snapshot, which then believes nothing of what it had. */
async function collect({ root, store }: StoreWork, catalog: OwnedCatalog): Promise<BoxError | null> {
  try {
    await collectGarbage(store, catalog);
    return null;
  } catch (error) {
    if (!(error instanceof BoxError && error.code === "box-store/damaged")) throw error;
    writeTargetState(root, store.address, { ...readTargetState(root, store.address), hasLosses: true });
    return error;
  }
}

/** Takes everything out of the store and gives it up. */
export async function clearOwned(work: StoreWork): Promise<Collected> {
  using _lock = lockBoxStores(work.root);
  const { catalog } = await claim(work);
  return await clearStore(work.store, catalog);
}

async function claim(
  work: StoreWork,
): Promise<{ readonly catalog: OwnedCatalog; readonly ownerId: string; readonly protocol: StoreProtocol }> {
  const { root, store, takeOver, nowMs } = work;
  refusePartialRoot(root);
  const state = readRootState(root);
  writeRootState(root, state);
  const protocol = await learnProtocol(work);
  const target = readTargetState(root, store.address);
  const catalog = await claimCatalog(
    {
      store,
      nowMs,
      newId: randomUUID,
      noteWrite(writeId, before) {
        const now = readTargetState(root, store.address);
        const writeIds = before === undefined ? [writeId] : [before, writeId];
        writeTargetState(root, store.address, { ...now, writeIds });
      },
    },
    protocol,
    { ...state, store: store.address, writeIds: target.writeIds, takeOver },
  );
  return { catalog, ownerId: state.ownerId, protocol };
}

async function learnProtocol({ root, store, nowMs }: StoreWork): Promise<StoreProtocol> {
  const target = readTargetState(root, store.address);
  const { probed } = target;
  if (probed !== null && nowMs() - probed.atMs < probedMaxMs) {
    return probed.kind === "cas" ? { kind: "cas", style: probed.style } : { kind: "lease" };
  }
  const protocol = await probeObjectStore(store);
  const style = protocol.kind === "cas" ? protocol.style : "quoted";
  writeTargetState(root, store.address, { ...target, probed: { kind: protocol.kind, style, atMs: nowMs() } });
  return protocol;
}
