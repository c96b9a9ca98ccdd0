/** How a command of a session gets its state and gives it back: two files of ours, on descriptors that its keeper opens. */
import { writeFileSync } from "node:fs";
import type { BoxPolicy } from "../box-policy.ts";
import type { StateDescriptors } from "./shell-program.ts";

/** the first descriptor that isn't the keeper's own; a filter of system calls comes before ours */
const firstFileFd = 4;

export function descriptorsOf({ policy }: { readonly policy: BoxPolicy }): StateDescriptors {
  const isFiltered = policy.decision.kind === "enclose" && policy.filterFile !== undefined;
  const load = firstFileFd + (isFiltered ? 1 : 0);
  return { load, save: load + 1 };
}

export function writePrivately(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, encoding: "latin1" });
}
