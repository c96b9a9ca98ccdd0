/**
 * The host's program. One file plays several roles: `host` is the process itself, `box-store` is a process that takes
 * snapshots, `offline` one that replays turns and carries agents, the others are threads. None of them loads anything of
 * the host. A thread that fails tells whoever started it.
 */
import { isMainThread, workerData } from "node:worker_threads";

const threads: Readonly<Record<string, () => Promise<void>>> = {
  blobs: async () => (await import("@sand/store/blobs")).runBlobRole(),
  recovery: async () => (await import("@sand/store/recovery")).runRecoveryRole(),
  projections: async () => (await import("@sand/store/projections")).runProjectionRole(),
};

async function runThread(data: unknown): Promise<void> {
  const role = typeof data === "object" && data !== null && "role" in data ? String(data.role) : "";
  const run = threads[role];
  if (run === undefined) throw new Error(`this program has no thread "${role}"`);
  await run();
}

async function runProcess(): Promise<void> {
  if (process.argv[2] === "box-store") {
    const { readRoleFailpoint } = await import("./config.ts");
    return (await import("./box-store/run-box-store-role.ts")).runBoxStoreRole(readRoleFailpoint());
  }
  if (process.argv[2] === "offline") {
    const { readRoleFailpoint } = await import("./config.ts");
    const { runOfflineRole } = await import("./offline/run-offline-role.ts");
    return runOfflineRole(import.meta.filename, readRoleFailpoint());
  }
  const { runHost } = await import("./run-host.ts");
  await runHost(import.meta.filename);
}

void (isMainThread ? runProcess() : runThread(workerData));
