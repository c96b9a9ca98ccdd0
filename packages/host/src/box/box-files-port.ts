/**
 * The file side of the box: reading, writing, listing and searching what commands see. Pure types.
 *
 * Paths are absolute, or relative to the workspace. What the daemon masks answers `file/denied`, also through a link.
 */
import type { ErrorCode, ExecutionId } from "@sand/protocol";

/** an expected refusal, with a code of the error table */
export interface Refused {
  readonly outcome: "refused";
  readonly code: ErrorCode;
  readonly message: string;
}

export interface FileFacts {
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly sizeBytes: number;
  readonly mode: number;
  readonly modifiedAtMs: number;
  /** where a symlink points, as it is written; null otherwise */
  readonly linkTarget: string | null;
}

export interface FileContent {
  readonly outcome: "ok";
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly offset: number;
  /** size of the whole file */
  readonly totalBytes: number;
  /** hex digest of the whole file; empty when it is larger than the daemon hashes */
  readonly sha256: string;
  /** a NUL byte or invalid UTF-8 near its start */
  readonly binary: boolean;
}

/** what must be so before a write: any state, no such file, or exactly this content (hex digest) */
export type WritePrecondition =
  | { readonly kind: "any" }
  | { readonly kind: "absent" }
  | { readonly kind: "sha256"; readonly sha256: string };

export interface WriteFileSpec {
  /** absolute, or relative to the workspace */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly precondition: WritePrecondition;
  /** A repeat under the same id (after a lost answer or a crash) is recognised as done and isn't a second write. */
  readonly operationId: ExecutionId;
  /** for a new file; null keeps the old one's, or 0644 */
  readonly mode: number | null;
}

export type WriteFileOutcome =
  /** `existing`: this operation was done before */
  | {
      readonly outcome: "written";
      readonly existing: boolean;
      readonly created: boolean;
      readonly sha256: string;
      readonly sizeBytes: number;
    }
  | Refused;

export interface ListFilesSpec {
  readonly path: string;
  /** 1 is the folder's own entries */
  readonly depth: number;
  readonly entriesMax: number;
}

export type ListFilesOutcome =
  | { readonly outcome: "ok"; readonly entries: readonly FileFacts[]; readonly truncated: boolean }
  | Refused;

export interface GrepSpec {
  /** a Rust regular expression, or plain text when `literal` */
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** folder or file to search, absolute or relative to the workspace */
  readonly path: string;
  /** only files that match one of these globs */
  readonly globs: readonly string[];
  readonly contextLines: number;
  readonly matchesMax: number;
}

export interface GrepMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** false: a line of context */
  readonly isMatch: boolean;
}

export interface GlobSpec {
  readonly pattern: string;
  readonly path: string;
  readonly filesMax: number;
}

export type GrepOutcome =
  | {
      readonly outcome: "ok";
      readonly matches: readonly GrepMatch[];
      readonly truncated: boolean;
      readonly timedOut: boolean;
    }
  | Refused;

export type GlobOutcome =
  | {
      readonly outcome: "ok";
      readonly paths: readonly string[];
      readonly truncated: boolean;
      readonly timedOut: boolean;
    }
  | Refused;

export interface BoxFiles {
  /** `lengthMax` null reads to the daemon's own limit */
  read(
    path: string,
    range: { readonly offset: number; readonly lengthMax: number | null },
    signal?: AbortSignal,
  ): Promise<FileContent | Refused>;
  write(spec: WriteFileSpec, signal?: AbortSignal): Promise<WriteFileOutcome>;
  list(spec: ListFilesSpec, signal?: AbortSignal): Promise<ListFilesOutcome>;
  stat(
    path: string,
    signal?: AbortSignal,
  ): Promise<{ readonly outcome: "ok"; readonly file: FileFacts } | Refused>;
  grep(spec: GrepSpec, signal?: AbortSignal): Promise<GrepOutcome>;
  glob(spec: GlobSpec, signal?: AbortSignal): Promise<GlobOutcome>;
}
