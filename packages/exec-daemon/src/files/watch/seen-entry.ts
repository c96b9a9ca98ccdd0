/** What a watch remembers of one entry, and what has happened when it looks different: pure, so that each case is plain. */
import { FileType } from "@sand/protocol/exec";

export interface SeenEntry {
  readonly type: FileType;
  readonly inode: number;
  /** tells an inode that was given to another file from the same file */
  readonly bornMs: number;
  readonly size: number;
  readonly modifiedMs: number;
  readonly mode: number;
  readonly owner: string;
}

export type Verdict = "created" | "removed" | "replaced" | "written" | "mode-changed";

/** Undefined: nothing that anybody could see. */
export function judgeEntry(before: SeenEntry | undefined, after: SeenEntry | undefined): Verdict | undefined {
  if (before === undefined) return after === undefined ? undefined : "created";
  if (after === undefined) return "removed";
  if (before.type !== after.type) return "replaced";
  // What a folder holds is told by the entries themselves.
  if (after.type === FileType.DIRECTORY) {
    if (!isSameEntry(before, after)) return "replaced";
  } else if (
    !isSameEntry(before, after) ||
    before.modifiedMs !== after.modifiedMs ||
    before.size !== after.size
  ) {
    return "written";
  }
  return before.mode !== after.mode || before.owner !== after.owner ? "mode-changed" : undefined;
}

export function isSameEntry(one: SeenEntry, other: SeenEntry): boolean {
  return one.inode === other.inode && one.bornMs === other.bornMs && one.type === other.type;
}
