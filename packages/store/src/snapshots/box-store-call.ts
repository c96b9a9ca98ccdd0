/**
 * What the host, or `sand`, asks of the process that works on a box store, and what that answers: one JSON document on
 * its standard input, JSON lines on its standard output. Credentials are part of the call: a pipe is seen by nobody.
 */
import type { SnapshotRow } from "./snapshot-manifest.ts";

export interface StoreAccess {
  /** a folder or `s3://bucket/prefix` */
  readonly address: string;
  readonly s3: {
    readonly endpoint: string | null;
    readonly region: string | null;
    readonly accessKeyId: string | null;
    readonly secretAccessKey: string | null;
    readonly sessionToken: string | null;
  };
}

interface OnStore {
  readonly root: string;
  readonly store: StoreAccess;
}

export type BoxStoreCall =
  | (OnStore & {
      readonly kind: "snapshot";
      readonly keep: number;
      readonly takeOver: boolean;
      /** stays out of the way of a host that works */
      readonly gentle: boolean;
    })
  | (OnStore & { readonly kind: "clear" })
  | (OnStore & { readonly kind: "list" })
  | (OnStore & { readonly kind: "restore"; readonly at: string | null; readonly dryRun: boolean });

/** What is told of a snapshot. */
export interface SnapshotFacts {
  readonly id: string;
  readonly takenAtMs: number;
  readonly entryCount: number;
  readonly storeDbEntries: number;
  readonly agentDirEntries: number;
  readonly totalBytes: number;
  readonly skipped: readonly {
    readonly path: string;
    readonly reason: string;
    readonly keptEarlier: boolean;
  }[];
}

export type BoxStoreReply =
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  | {
      readonly kind: "snapshot";
      readonly isNew: boolean;
      readonly protocol: "cas" | "lease";
      readonly facts: SnapshotFacts;
      readonly uploadedObjects: number;
      readonly uploadedBytes: number;
      readonly problem: { readonly code: string; readonly message: string } | null;
    }
  | { readonly kind: "cleared"; readonly manifests: number; readonly objects: number; readonly bytes: number }
  | { readonly kind: "list"; readonly snapshots: readonly SnapshotRow[] }
  | { readonly kind: "restored"; readonly facts: SnapshotFacts; readonly damaged: readonly string[] }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly message: string;
      readonly hint: string | null;
    };
