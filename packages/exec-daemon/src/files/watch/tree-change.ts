/** What a watched tree tells of, before it becomes a message. Paths are relative to the watched folder. */
import type { FileType } from "@sand/protocol/exec";
import type { RawPath } from "../raw-path.ts";

export type TreeChange =
  | {
      readonly kind: "create" | "write" | "remove" | "chmod";
      readonly path: RawPath;
      readonly type: FileType;
    }
  | {
      readonly kind: "rename";
      readonly path: RawPath;
      readonly oldPath: RawPath;
      readonly type: FileType;
    };
