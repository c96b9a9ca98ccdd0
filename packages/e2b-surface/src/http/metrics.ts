/** GET /metrics: what this machine has and uses, from `/proc` and the file system of the home. */
import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { Clock } from "@sand/protocol";

const mib = 1024 * 1024;
/** the use of the processor is measured over at least this long */
const sampleMinMs = 100;

export interface Metrics {
  readonly ts: number;
  readonly cpu_count: number;
  readonly cpu_used_pct: number;
  readonly mem_total: number;
  readonly mem_used: number;
  readonly mem_cache: number;
  readonly mem_total_mib: number;
  readonly mem_used_mib: number;
  readonly mem_cache_mib: number;
  readonly disk_used: number;
  readonly disk_total: number;
}

export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

export function createMetrics(home: string, clock: Clock): () => Promise<Metrics> {
  let before = { ...parseCpuTimes(readText("/proc/stat")), atMs: clock.nowMs() };

  return async () => {
    if (clock.nowMs() - before.atMs < sampleMinMs) await clock.sleep(sampleMinMs);
    const now = { ...parseCpuTimes(readText("/proc/stat")), atMs: clock.nowMs() };
    const used = usedPercent(before, now);
    before = now;
    const disk = await statfs(home);
    return {
      ts: Math.floor(clock.nowMs() / 1000),
      cpu_count: availableParallelism(),
      cpu_used_pct: used,
      ...memoryOf(readText("/proc/meminfo")),
      disk_used: (disk.blocks - disk.bfree) * disk.bsize,
      disk_total: disk.blocks * disk.bsize,
    };
  };
}

export function usedPercent(before: CpuTimes, now: CpuTimes): number {
  const total = now.total - before.total;
  return total <= 0 ? 0 : Math.round(((now.busy - before.busy) / total) * 10_000) / 100;
}

/** The first line of `/proc/stat`: user, nice, system, idle, waiting for a device, and others. */
export function parseCpuTimes(text: string): CpuTimes {
  const numbers = (/^cpu +(.*)$/mu.exec(text)?.[1] ?? "").split(" ").map(Number).slice(0, 8);
  const total = numbers.reduce((sum, value) => sum + value, 0);
  return { total, busy: total - (numbers[3] ?? 0) - (numbers[4] ?? 0) };
}

type MemoryMetrics = Pick<Metrics, "mem_total" | "mem_used" | "mem_cache"> &
  Pick<Metrics, "mem_total_mib" | "mem_used_mib" | "mem_cache_mib">;

export function memoryOf(meminfo: string): MemoryMetrics {
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}: +(\\d+) kB$`, "mu").exec(meminfo)?.[1] ?? 0) * 1024;
  const total = kilobytes("MemTotal");
  const used = Math.max(0, total - kilobytes("MemAvailable"));
  const cache = kilobytes("Cached");
  return {
    ...{ mem_total: total, mem_used: used, mem_cache: cache },
    ...{ mem_total_mib: toMib(total), mem_used_mib: toMib(used), mem_cache_mib: toMib(cache) },
  };
}

function toMib(bytes: number): number {
  return Math.floor(bytes / mib);
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}
