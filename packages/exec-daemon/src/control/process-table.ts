/** The processes of this machine as the kernel shows them, and whose they are. Reading only; nothing is signalled. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly session: number;
  readonly name: string;
  readonly state: string;
  readonly startTime: string;
  readonly cpuMs: number;
  readonly threads: number;
}

export interface Owner {
  readonly processId?: string;
  readonly mcpServerId?: string;
  readonly agentId?: string;
  readonly daemon?: boolean;
}

/** the kernel counts times in these, on every machine that Linux runs on today */
const ticksPerSecond = 100;

export function readProcessTable(): readonly ProcessRow[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => parseRow(readText(`/proc/${pid}/stat`)));
}

/** The name stands in brackets and may itself hold brackets and blanks, so fields count from the last one. */
export function parseRow(stat: string): readonly ProcessRow[] {
  const [from, to] = [stat.indexOf("("), stat.lastIndexOf(")")];
  const fields = stat.slice(to + 2).split(" ");
  const number = (field: number): number => Number(fields[field - 3] ?? Number.NaN);
  const [pid, parentPid] = [Number(stat.slice(0, from)), number(4)];
  if (from < 1 || !Number.isInteger(pid) || !Number.isInteger(parentPid)) return [];
  return [
    {
      ...{ pid, parentPid, session: number(6) },
      name: stat.slice(from + 1, to),
      state: fields[0] ?? "",
      startTime: fields[22 - 3] ?? "",
      cpuMs: ((number(14) + number(15)) * 1000) / ticksPerSecond,
      threads: number(20),
    },
  ];
}

/**
 * Whose each process is: the nearest process above it that somebody of ours is known by decides, or else the leader of
 * its session, which also covers what was left behind by a parent that has ended.
 */
export function assignOwners(
  rows: readonly ProcessRow[],
  seeds: ReadonlyMap<number, Owner>,
): ReadonlyMap<number, Owner> {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const owners = new Map<number, Owner>();

  function ownerAbove(row: ProcessRow): Owner | undefined {
    const seen = new Set<number>();
    for (
      let at: ProcessRow | undefined = row;
      at !== undefined && !seen.has(at.pid);
      at = byPid.get(at.parentPid)
    ) {
      const owner = owners.get(at.pid) ?? seeds.get(at.pid);
      if (owner !== undefined) return owner;
      seen.add(at.pid);
    }
    return undefined;
  }

  for (const row of rows) {
    const owner = ownerAbove(row) ?? seeds.get(row.session);
    if (owner !== undefined) owners.set(row.pid, owner);
  }
  return owners;
}

/** Resident memory in bytes; 0 when the process is gone. */
export function readMemory(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/mu.exec(readText(`/proc/${pid}/status`))?.[1];
  return kib === undefined ? 0 : Number(kib) * 1024;
}

/** 0 when it can't be looked at: gone, or another account's. */
export function countOpenFds(pid: number | "self"): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

export function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Gone, or not for us: nothing is known then.
    return "";
  }
}
