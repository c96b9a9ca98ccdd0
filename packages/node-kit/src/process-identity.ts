/**
 * Tells one process from a later one with the same pid. A pid alone is reused, and after a reboot all of them are: a
 * signal sent by a stored pid could end somebody else's program.
 *
 * Linux only; elsewhere no identity can be read and nothing counts as the same process.
 */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** start time in clock ticks since boot: field 22 of `/proc/<pid>/stat` */
  readonly startTime: string;
  readonly bootId: string;
}

/** Undefined when no such process lives; one that has exited but wasn't waited for doesn't live. */
export function readProcessIdentity(pid: number): ProcessIdentity | undefined {
  const bootId = readBootId();
  const stat = readText(`/proc/${pid}/stat`);
  if (bootId === undefined || stat === undefined) return undefined;
  const parsed = parseProcessStat(stat);
  if (parsed === undefined || parsed.state === "Z" || parsed.state === "X") return undefined;
  return { pid, startTime: parsed.startTime, bootId };
}

export function isSameProcess(identity: ProcessIdentity): boolean {
  const now = readProcessIdentity(identity.pid);
  return now !== undefined && now.startTime === identity.startTime && now.bootId === identity.bootId;
}

/** Changes with each boot of the machine. */
export function readBootId(): string | undefined {
  return readText("/proc/sys/kernel/random/boot_id")?.trim();
}

/** The program's name stands in brackets and may itself hold brackets and blanks, so fields count from the last one. */
export function parseProcessStat(
  stat: string,
): { readonly state: string; readonly startTime: string } | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // The state is field 3 and the first after the name; the start time is field 22.
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined || !/^\d+$/u.test(startTime)) return undefined;
  return { state, startTime };
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process is gone, or this system has no such file. Both mean: nothing known.
    return undefined;
  }
}
