/**
 * Settles an execution whose keeper is gone without having recorded its end. What it left running can't be adopted,
 * since nobody can wait for it or read its output any more, so it is killed: by its group where the leader is provably
 * the same process, by its control group where it has one, and by the marker in its environment. Then the outcome is recorded as unknown, once, so that every
 * later question gets the same answer.
 */
import { join } from "node:path";
import { isSameProcess, writeFileAtomicSync } from "@sand/node-kit";
import { killCgroup } from "../keeper/cgroup-place.ts";
import { findMarked, sendSignal } from "../processes/process-tree.ts";
import { createSpoolReader } from "../spool/spool-reader.ts";
import { executionFiles, startedSeq } from "./execution-folder.ts";
import type { ClosedRecord, ExitRecord } from "./records.ts";
import type { TrackedExecution } from "./tracked-execution.ts";

export function settleLost(execution: TrackedExecution, reason: string): void {
  // Its last act may have been to write the record that we are about to replace.
  execution.refresh();
  if (execution.closed !== undefined) return;
  const end = findEnd(execution.folder);
  if (execution.exit === undefined) {
    killLeftovers(execution);
    const exit: ExitRecord = { outcome: "unknown", seq: end.nextSeq, reason };
    writeFileAtomicSync(join(execution.folder, executionFiles.exit), JSON.stringify(exit));
  }
  const closed: ClosedRecord = {
    ...{ seq: Math.max(end.nextSeq, execution.exit?.seq ?? end.nextSeq) + 1, leftOpen: true },
    ...{ stdoutBytes: end.stdout, stderrBytes: end.stderr },
  };
  writeFileAtomicSync(join(execution.folder, executionFiles.closed), JSON.stringify(closed));
  execution.refresh();
}

function killLeftovers(execution: TrackedExecution): void {
  const { started } = execution;
  if (started !== undefined && isSameProcess(started)) sendSignal(-started.pgid, "SIGKILL");
  if (execution.claim?.cgroup !== undefined) killCgroup(execution.claim.cgroup);
  const { executionId, launch } = execution.start;
  for (const pid of findMarked(executionId, launch.user)) sendSignal(pid, "SIGKILL");
}

interface SpoolEnd {
  readonly nextSeq: number;
  readonly stdout: number;
  readonly stderr: number;
}

const scanBytes = 1024 * 1024;

function findEnd(folder: string): SpoolEnd {
  const reader = createSpoolReader(folder);
  const end = { nextSeq: startedSeq + 1, stdout: 0, stderr: 0 };
  for (;;) {
    const frames = reader.read(end.nextSeq, scanBytes);
    if (frames.length === 0) return end;
    for (const frame of frames) {
      end.nextSeq = frame.seq + 1;
      end[frame.stream] = frame.offset + frame.bytes.length;
    }
  }
}
