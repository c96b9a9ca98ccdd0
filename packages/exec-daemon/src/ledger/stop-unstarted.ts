/**
 * Ends an execution that was accepted and that no keeper has taken yet, because the daemon died before it could give
 * it away. The daemon claims it as a keeper would, so from then on nobody can start it, and records that it was
 * stopped before it began. Without this a stop would find nothing to signal, and its outcome would stay open.
 */
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import { claimExecution } from "../keeper/claim-execution.ts";
import { executionFiles, startedSeq } from "./execution-folder.ts";
import type { ClosedRecord, ExitRecord } from "./records.ts";
import type { TrackedExecution } from "./tracked-execution.ts";

/** False when a keeper was quicker: then there is something to signal. */
export function stopUnstarted(execution: TrackedExecution, signal: NodeJS.Signals, nowMs: number): boolean {
  const isOurs = claimExecution(execution.folder);
  if (isOurs) {
    const exit: ExitRecord = {
      outcome: "known",
      seq: startedSeq + 1,
      exit: {
        ...{ code: null, signal, timedOut: false, oomKilled: false, reason: "signaled" },
        ...{ message: "it was stopped before it began", endedAtMs: nowMs },
      },
    };
    const closed: ClosedRecord = { seq: startedSeq + 2, leftOpen: false, stdoutBytes: 0, stderrBytes: 0 };
    writeFileAtomicSync(join(execution.folder, executionFiles.exit), JSON.stringify(exit));
    writeFileAtomicSync(join(execution.folder, executionFiles.closed), JSON.stringify(closed));
  }
  execution.refresh();
  return isOurs;
}
