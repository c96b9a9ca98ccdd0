/** The daemon of a chaos: killed and started again, and looked at. Only one lives at a time. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldOf } from "../../gateway-client.ts";
import { countOpenFiles, readResidentBytes } from "../../leak-check.ts";
import type { StartedProcess } from "../../processes/child-process.ts";
import type { SandWorld } from "../../processes/sand-world.ts";
import type { DaemonAccess } from "./daemon-client.ts";

export interface ChaosDaemons {
  readonly kills: number;
  /** undefined while there is none */
  access(): DaemonAccess | undefined;
  start(): Promise<void>;
  /** SIGKILL */
  kill(): Promise<void>;
  /** SIGTERM, and the daemon's own way to its end */
  stop(): Promise<void>;
  look(): { readonly descriptors: number; readonly residentBytes: number };
  /** dead children that the daemon or whoever else is of this world hasn't waited for */
  countZombies(): number;
}

const stopMaxMs = 30_000;

export function createChaosDaemons(world: SandWorld): ChaosDaemons {
  let daemon: StartedProcess | undefined;
  let kills = 0;
  return {
    get kills() {
      return kills;
    },
    access() {
      if (daemon === undefined || daemon.exit() !== undefined) return undefined;
      try {
        const found: unknown = JSON.parse(readFileSync(join(world.dataRoot, "exec-daemon.json"), "utf8"));
        if (fieldOf(found, "pid") !== daemon.pid) return undefined;
        const [rpcPort, ptyPort] = [fieldOf(found, "rpcPort"), fieldOf(found, "ptyPort")].map(Number);
        return rpcPort && ptyPort ? { rpcPort, ptyPort, token: world.secrets.daemon } : undefined;
      } catch {
        return undefined;
      }
    },
    async start() {
      daemon = await world.startDaemon();
    },
    async kill() {
      kills += 1;
      await daemon?.end();
    },
    async stop() {
      const timer = setTimeout(() => daemon?.kill("SIGKILL"), stopMaxMs);
      daemon?.kill("SIGTERM");
      await daemon?.exited;
      clearTimeout(timer);
    },
    look() {
      const pid = daemon?.pid ?? 0;
      return { descriptors: countOpenFiles(pid), residentBytes: readResidentBytes(pid) };
    },
    countZombies: () => countZombies(new Set(world.leftProcesses().map(({ pid }) => pid))),
  };
}

function countZombies(parents: ReadonlySet<number>): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/u.test(name)) return false;
    const [state, parent] = readStat(name);
    return state === "Z" && parents.has(Number(parent));
  }).length;
}

function readStat(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Control groups of this data root's executions that are still there, wherever they lie. */
export function findControlGroups(dataRoot: string): readonly string[] {
  const prefix = `sand-${createHash("sha256").update(dataRoot).digest("hex").slice(0, 12)}-`;
  const own = /^0::(\/.*)$/mu.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
  return ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].flatMap((mount) => {
    try {
      return readdirSync(join(mount, own)).filter((name) => name.startsWith(prefix));
    } catch {
      return [];
    }
  });
}
