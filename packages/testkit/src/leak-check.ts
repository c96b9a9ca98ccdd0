/**
 * Finds what a test left behind: processes that carry the test's marker in their first environment or work in its
 * folder. Read from /proc, so it sees children of children as well, whoever their parent is now.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface LeftProcess {
  readonly pid: number;
  readonly command: string;
}

/** Processes whose environment, command line or working folder names `marker`, this one left out. */
export function findProcessesOf(marker: string): readonly LeftProcess[] {
  const found: LeftProcess[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || isZombie(pid)) continue;
    const command = readProcFile(pid, "cmdline").replaceAll("\0", " ").trim();
    if (
      command.includes(marker) ||
      readProcFile(pid, "environ").includes(marker) ||
      readFolder(pid).includes(marker)
    ) {
      found.push({ pid, command });
    }
  }
  return found;
}

/** a dead child that its parent hasn't waited for yet holds nothing but its number */
function isZombie(pid: number): boolean {
  const stat = readProcFile(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "Z";
}

function readProcFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    // It ended between the listing and the look, or belongs to another user: then it isn't ours.
    return "";
  }
}

function readFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

/** resident memory of a process, in `bytes` */
export function readResidentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/mu.exec(readProcFile(pid, "status"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** open file descriptors of a process */
export function countOpenFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
