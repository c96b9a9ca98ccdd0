/**
 * `<data root>/upgrade.json`: says of the host that holds the lock that it awaits its replacement, so that a plain start
 * may take over from it. It counts only together with the lock: the pid in it must be the holder's.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";

const fileName = "upgrade.json";

export function writePrepared(dataRoot: string, pid: number, upgradeId: string): void {
  writeFileAtomicSync(join(dataRoot, fileName), `${JSON.stringify({ pid, upgradeId })}\n`, { mode: 0o600 });
}

export function removePrepared(dataRoot: string): void {
  rmSync(join(dataRoot, fileName), { force: true });
}

/** Whether the host with this pid awaits its replacement. */
export function isPrepared(dataRoot: string, pid: number): boolean {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataRoot, fileName), "utf8"));
    return typeof value === "object" && value !== null && "pid" in value && value.pid === pid;
  } catch {
    // Absent, or not ours: nobody has prepared anything.
    return false;
  }
}
