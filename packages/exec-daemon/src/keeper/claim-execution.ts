/**
 * Takes an execution for this process. The claim appears under its name whole, by a link that fails when the name is
 * taken: so of two keepers that were both told to run it, because a daemon died in between, exactly one does. It isn't
 * waited for on the disk: what a power cut takes, the intent's boot tells (`ledger/ledger.ts`).
 */
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readProcessIdentity } from "@sand/node-kit";
import { invariant } from "@sand/protocol";
import { executionFiles } from "../ledger/execution-folder.ts";
import type { ClaimRecord } from "../ledger/records.ts";

/** False when another keeper has it. */
export function claimExecution(folder: string): boolean {
  const identity = readProcessIdentity(process.pid);
  invariant(identity !== undefined, "a process can read its own identity");
  const claim: ClaimRecord = identity;
  const temporary = join(folder, `.claim.${process.pid}.tmp`);
  writeFileSync(temporary, JSON.stringify(claim), { mode: 0o600 });
  try {
    linkSync(temporary, join(folder, executionFiles.claim));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return true;
}
