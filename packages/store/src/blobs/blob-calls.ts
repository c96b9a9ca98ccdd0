/** What the host's thread asks of the thread that owns a blob database, and what it gets. Calls are answered in order. */
import type { ErrorCode } from "@sand/protocol";

export interface BlobCalls {
  /** stores them, durably; the answer names each */
  readonly put: {
    readonly ask: { readonly blobs: readonly Uint8Array[] };
    readonly answer: readonly string[];
  };
  /** each verified against its name */
  readonly get: {
    readonly ask: { readonly ids: readonly string[] };
    readonly answer: readonly Uint8Array[];
  };
  readonly checkpoint: { readonly ask: CheckpointAsk; readonly answer: CheckpointAnswer };
  readonly list: { readonly ask: ListAsk; readonly answer: ListAnswer };
  readonly drop: { readonly ask: DropAsk; readonly answer: { readonly dropped: number } };
  /** everything into the file, the log emptied, the file closed */
  readonly close: { readonly ask: null; readonly answer: null };
}

export type BlobCallKind = keyof BlobCalls;

export interface CheckpointAsk {
  /** the last root, whose full pages are taken over */
  readonly previous: string | null;
  /** how many payloads come before `payloads`; a whole number of pages */
  readonly skipped: number;
  /** the names of the payloads from there on, in their order */
  readonly payloads: readonly string[];
}

export type CheckpointAnswer =
  | { readonly kind: "stored"; readonly root: RootNodes }
  /** the last root can't be built on; to be asked again from the first payload */
  | { readonly kind: "unreadable" };

/** the blobs that make up a root, beside the payloads */
export interface RootNodes {
  readonly root: string;
  readonly fullPages: readonly string[];
  readonly lastPage: string | null;
}

export interface ListAsk {
  /** goes on behind this position; where the collector stands when `null` */
  readonly after: number | null;
  readonly limit: number;
}

export interface ListAnswer {
  /** names this listing; a drop that comes from an older one is refused */
  readonly epoch: string;
  readonly blobs: readonly { readonly at: number; readonly id: string }[];
}

export interface DropAsk {
  readonly epoch: string;
  readonly ids: readonly string[];
  /** the collector has nothing to look for up to here any more */
  readonly settledThrough: number;
}

export type BlobRequest = {
  readonly [Kind in BlobCallKind]: {
    readonly kind: Kind;
    readonly turn: number;
    readonly ask: BlobCalls[Kind]["ask"];
  };
}[BlobCallKind];

export type BlobReply =
  | { readonly turn: number; readonly ok: true; readonly answer: BlobCalls[BlobCallKind]["answer"] }
  | {
      readonly turn: number;
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint?: string;
    };

/** what a blob thread is started with */
export interface BlobRoleData {
  readonly role: "blobs";
  readonly path: string;
  /** where carried addons are unpacked */
  readonly nativesFolder: string;
  readonly logLevel: string;
  readonly failpoint?: string;
}
