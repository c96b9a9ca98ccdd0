/** What all work on whole trees shares: turns for others, and bounds on depth and number. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { BoxError } from "@sand/protocol";
import { fileLimits } from "./file-limits.ts";

export interface TreeCount {
  /** Counts one entry at a depth; gives others their turn now and then. */
  add(depth: number): Promise<void>;
  readonly entries: number;
}

export function createTreeCount(entriesMax: number = fileLimits.treeEntriesMax): TreeCount {
  let entries = 0;
  return {
    async add(depth) {
      entries += 1;
      if (entries > entriesMax)
        throw new BoxError("file/too-large", `the tree has more than ${entriesMax} entries`);
      refuseDepth(depth);
      if (entries % fileLimits.turnEntries === 0) await nextTurn();
    },
    get entries() {
      return entries;
    },
  };
}

/** Before a folder is entered: each level holds a descriptor. */
export function refuseDepth(depth: number): void {
  if (depth > fileLimits.treeDepthMax)
    throw new BoxError("file/too-large", `the tree is deeper than ${fileLimits.treeDepthMax} folders`);
}
