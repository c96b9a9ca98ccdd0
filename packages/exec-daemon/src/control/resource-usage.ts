/** ResourceUsage: what the box uses and has, and on request what each process of ours uses. */
import { readFileSync, statfsSync } from "node:fs";
import { availableParallelism, freemem, totalmem } from "node:os";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "@sand/protocol";
import type {
  ProcessUsageSchema,
  ResourceUsageRequest,
  ResourceUsageResponseSchema,
} from "@sand/protocol/exec";
import type { BoxOwners } from "./box-owners.ts";
import { countOpenFds, readMemory, readText } from "./process-table.ts";

export interface ResourceUsageDeps {
  readonly clock: Clock;
  readonly owners: BoxOwners;
  readonly workspaceRoot: string;
}

/** processes that are listed */
const processesMax = 2000;
const ticksPerSecond = 100;

export function describeUsage(
  deps: ResourceUsageDeps,
  request: ResourceUsageRequest,
): MessageInitShape<typeof ResourceUsageResponseSchema> {
  const disk = statfsSync(deps.workspaceRoot);
  const processes = request.processes ? listProcesses(deps.owners) : { rows: [], truncated: false };
  return {
    atMs: BigInt(deps.clock.nowMs()),
    cpuCount: availableParallelism(),
    ...readCpu(),
    ...readMemoryOfBox(),
    diskTotalBytes: BigInt(disk.blocks) * BigInt(disk.bsize),
    diskFreeBytes: BigInt(disk.bavail) * BigInt(disk.bsize),
    daemonMemoryBytes: BigInt(process.memoryUsage.rss()),
    daemonOpenFds: countOpenFds("self"),
    daemonFdsMax: readFdsMax(),
    processes: [...processes.rows],
    truncated: processes.truncated,
  };
}

function listProcesses(readOwners: BoxOwners) {
  const { rows, owners } = readOwners();
  const owned = rows.filter((row) => owners.has(row.pid));
  const listed = owned.slice(0, processesMax).map((row): MessageInitShape<typeof ProcessUsageSchema> => {
    const { pid, parentPid, startTime, name, state, threads } = row;
    return {
      ...{ pid, parentPid, startTime, name, state, threads },
      memoryBytes: BigInt(readMemory(pid)),
      cpuMs: BigInt(Math.round(row.cpuMs)),
      openFds: countOpenFds(pid),
      owner: owners.get(pid) ?? {},
    };
  });
  return { rows: listed, truncated: owned.length > listed.length };
}

function readCpu(): { readonly cpuBusyMs: bigint; readonly cpuTotalMs: bigint } {
  const [total = "", ...fields] = (readText("/proc/stat").split("\n")[0] ?? "").split(/\s+/u);
  // The guest's times are counted in the user's as well.
  const ticks = total === "cpu" ? fields.slice(0, 8).map(Number) : [];
  const sum = ticks.reduce((a, b) => a + b, 0);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  const toMs = (value: number): bigint => BigInt(Math.round((value * 1000) / ticksPerSecond));
  return { cpuBusyMs: toMs(sum - idle), cpuTotalMs: toMs(sum) };
}

/** A container's own figures lie at the root of what it sees, in the second or the first version of control groups. */
const groupFiles = [
  { max: "/sys/fs/cgroup/memory.max", used: "/sys/fs/cgroup/memory.current" },
  {
    max: "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    used: "/sys/fs/cgroup/memory/memory.usage_in_bytes",
  },
] as const;

function readMemoryOfBox(): { readonly memoryTotalBytes: bigint; readonly memoryUsedBytes: bigint } {
  const machine = totalmem();
  for (const { max, used } of groupFiles) {
    const limit = Number(readText(max).trim() || Number.NaN);
    if (!(limit > 0 && limit < machine)) continue;
    return { memoryTotalBytes: BigInt(limit), memoryUsedBytes: BigInt(readText(used).trim() || 0) };
  }
  return { memoryTotalBytes: BigInt(machine), memoryUsedBytes: BigInt(machine - readAvailable()) };
}

function readAvailable(): number {
  const kib = /^MemAvailable:\s+(\d+) kB$/mu.exec(readText("/proc/meminfo"))?.[1];
  return kib === undefined ? freemem() : Number(kib) * 1024;
}

function readFdsMax(): number {
  const soft = /^Max open files\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  return soft === undefined ? 0 : Math.min(Number(soft), 0xffff_ffff);
}
