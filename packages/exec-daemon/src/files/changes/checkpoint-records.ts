/** What a checkpoint is on disk: a list of the tree's entries, and contents that all checkpoints share by their digest. */
import type { FileType } from "@sand/protocol/exec";
import type { RawPath } from "../raw-path.ts";

export interface CheckpointFacts {
  readonly id: string;
  /** as it was asked for, to be read again */
  readonly path: string;
  readonly label: string;
  readonly createdAtMs: number;
  readonly files: number;
  readonly sizeBytes: number;
  readonly withoutContent: number;
  readonly hash: string;
  readonly ignore: readonly string[];
}

export interface CheckpointEntry {
  /** one character for each byte, below the folder */
  readonly path: RawPath;
  readonly type: FileType;
  readonly mode: number;
  readonly size: number;
  readonly sha256: string;
}

export interface CheckpointManifest {
  readonly entries: readonly CheckpointEntry[];
}
