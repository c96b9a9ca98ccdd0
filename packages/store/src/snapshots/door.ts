/** The door of snapshots: only the process that works on a box store loads it, never the host itself. */
export { prepareSqlite } from "../load-sqlite.ts";
export { chooseSnapshot } from "./choose-snapshot.ts";
export type { Collected } from "./collect-garbage.ts";
export { looksLikeStore, openDirectoryStore } from "./directory-store.ts";
export type {
  CreateOutcome,
  ListedObject,
  ObjectStore,
  ReplaceOutcome,
  StoredBytes,
} from "./object-store.ts";
export { type RetentionPolicy, retentionDefaults } from "./plan-retention.ts";
export { probeObjectStore, type StoreProtocol } from "./probe-object-store.ts";
export { readManifest } from "./read-manifest.ts";
export { type Restored, restoreSnapshot } from "./restore-snapshot.ts";
export { readCatalog } from "./snapshot-catalog.ts";
export type { SnapshotManifest, SnapshotRow } from "./snapshot-manifest.ts";
export { clearOwned, type StoreWork, snapshotInto } from "./work-on-store.ts";
