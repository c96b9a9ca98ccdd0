/** A store's list of snapshots in the hands of its owner, and what keeping it needs. */
import type { ObjectStore } from "./object-store.ts";
import type { SnapshotRow } from "./snapshot-manifest.ts";

export interface CatalogDeps {
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  readonly newId: () => string;
  /** notes the mark of the write to come, beside the mark of what it replaces; durable before it returns */
  readonly noteWrite: (writeId: string, before: string | undefined) => void;
}

/** A store that this data root owns for now. */
export interface OwnedCatalog {
  readonly epoch: number;
  readonly snapshots: readonly SnapshotRow[];
  /** Replaces the list. Throws `box-store/owned-by-other` when another owner came in between. */
  write(snapshots: readonly SnapshotRow[]): Promise<void>;
  /** throws as `write` does, before something is deleted */
  confirm(): Promise<void>;
  /** gives the store up, so that anybody may claim it */
  release(): Promise<void>;
}
