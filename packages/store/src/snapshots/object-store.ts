/**
 * The seam to where snapshots are kept: a directory or S3-compatible storage. An adapter moves bytes and answers
 * conditions; what the bytes mean, and that they are what was written, is checked above it.
 *
 * Keys are relative, with slashes. A failed request throws `BoxError box-store/unavailable`; that something isn't
 * there, or that a condition doesn't hold, is an answer.
 */

export interface StoredBytes {
  readonly bytes: Uint8Array;
  /** names this version of the object, without quotes around it */
  readonly etag: string;
}

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
}

/** How a condition on the version is written; servers differ in what they understand. */
export type EtagStyle = "quoted" | "plain";

export type CreateOutcome =
  | { readonly kind: "created" }
  | { readonly kind: "exists" }
  /** the store says that it knows no such condition */
  | { readonly kind: "unsupported" };

export type ReplaceOutcome =
  | { readonly kind: "replaced" }
  | { readonly kind: "stale" }
  | { readonly kind: "unsupported" };

export interface Replacement {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** the version that must still be the current one */
  readonly etag: string;
  readonly style: EtagStyle;
}

export interface ObjectStore {
  /** for people and for telling two stores apart; holds no credential */
  readonly address: string;
  /** how many requests are worth making at once */
  readonly parallel: number;
  /** writes without a condition; the name is durable after `settle` */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** writes only when nothing is there */
  create(key: string, bytes: Uint8Array): Promise<CreateOutcome>;
  /** writes only over the given version */
  replace(replacement: Replacement): Promise<ReplaceOutcome>;
  get(key: string, range?: { readonly from: number; readonly to: number }): Promise<StoredBytes | undefined>;
  /** all keys below the prefix, in no promised order */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** absent keys are passed over */
  remove(key: string): Promise<void>;
  /** all that was put before is durable when it resolves */
  settle(): Promise<void>;
  /** takes away what interrupted writes left; for the owner alone */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** Names in a store. Objects and manifests are immutable, and named by the hash of what is in them. */
export const storeKeys = {
  objects: "objects/",
  manifests: "manifests/",
  head: "head.json",
  lease: "lease.json",
  probe: "probe/",
  object: (sha256: string): string => `objects/${sha256}`,
} as const;
