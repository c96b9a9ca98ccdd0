/**
 * One run of a real host whose every change of a file is recorded, with work going on and a client watching the events.
 * The host is killed at the end, so that no orderly close tidies up; what it had by then is the history's truth.
 */
import { cpSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openStream } from "../event-recorder.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld } from "../processes/sand-world.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { type AgentView, viewAgent } from "./agent-view.ts";
import { compileDiskShim } from "./compile-disk-shim.ts";
import { type DiskLoad, runDiskLoad } from "./disk-load.ts";
import { type Weakness, weakenHost } from "./weaken-host.ts";

export interface RecordOptions {
  readonly seed: number;
  readonly bundles: SandBundles;
  readonly agents: number;
  readonly rounds: number;
  /** where the record is kept; the run's own world is removed */
  readonly folder: string;
  readonly weakness?: Weakness;
}

export interface RecordedRun {
  readonly recordFile: string;
  readonly root: string;
  readonly rootInode: number;
  readonly load: DiskLoad;
  /** agent → its history; agents that were deleted have none */
  readonly truth: ReadonlyMap<string, AgentView>;
}

export async function recordRun(options: RecordOptions): Promise<RecordedRun> {
  const { folder, weakness, seed } = options;
  const shim = await compileDiskShim(folder);
  const host =
    weakness === undefined ? options.bundles.host : weakenHost(options.bundles.host, weakness, folder);
  await using world = await createWorld({
    label: "record",
    bundles: { ...options.bundles, host },
    sandbox: "off",
  });
  const recordFile = join(folder, "record.bin");
  const rootInode = statSync(world.dataRoot).ino;
  const env = {
    LD_PRELOAD: shim,
    DISK_SHIM_ROOT: world.dataRoot,
    DISK_SHIM_LOG: recordFile,
    ...(weakness === "no sync" ? { DISK_SHIM_NO_SYNC: "1" } : {}),
  };
  await world.startDaemon();
  const { access, process: host_ } = await world.startHost({ env });
  const stream = await openStream(access, { since: 0 });
  const load = await runDiskLoad({
    access,
    random: createSeededRandom(seed).fork("load"),
    agents: options.agents,
    rounds: options.rounds,
    withTools: true,
  });
  stream.cut();
  await stream.closed;
  await host_.end();
  return {
    recordFile,
    root: world.dataRoot,
    rootInode,
    load,
    truth: await readTruth(world.dataRoot, load, join(folder, "truth")),
  };
}

async function readTruth(
  dataRoot: string,
  load: DiskLoad,
  copy: string,
): Promise<ReadonlyMap<string, AgentView>> {
  const truth = new Map<string, AgentView>();
  const nonces = noncesOf(load);
  const agents = join(dataRoot, "agents");
  for (const agentId of readdirSync(agents)) {
    if (!existsSync(join(agents, agentId, "store.db"))) continue;
    cpSync(join(agents, agentId), join(copy, agentId), { recursive: true });
    const directory = join(copy, agentId);
    truth.set(agentId, await viewAgent({ directory, agentId, nonces, isUnfinished: false }));
  }
  return truth;
}

/** every nonce that was accepted in the run */
export function noncesOf(load: DiskLoad): ReadonlySet<string> {
  const nonces = new Set<string>();
  for (const promise of load.promised.values()) if (promise.kind === "prompt") nonces.add(promise.nonce);
  return nonces;
}
