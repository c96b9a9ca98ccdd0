/**
 * Chooses at the start what keeps executions: the native shim where it runs, else a Node process for each. Both follow
 * the same contract, so an execution that one of them began is followed by a daemon that chose the other.
 *
 * The shim is asked what it can do here by running it once, which also proves that it may be executed where it lies.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { BoxError } from "@sand/protocol";
import { type CgroupPlace, findCgroupPlace } from "./cgroup-place.ts";
import { findShim } from "./find-shim.ts";
import type { KeeperMode } from "./keeper-mode.ts";
import type { KeeperPoolDeps } from "./keeper-pool.ts";
import { encodeShimOrder } from "./shim-order.ts";

export interface KeeperChoice {
  readonly pool: KeeperPoolDeps;
  /** undefined: the shim; else why it isn't */
  readonly whyNoShim: string | undefined;
  /** undefined: executions have control groups; else why they haven't */
  readonly whyNoCgroup: string | undefined;
  /** Removes the control groups that executions have left behind; false when something still runs in one. */
  sweep(): boolean;
}

export interface ChooseKeeperDeps {
  readonly mode: KeeperMode;
  readonly dataRoot: string;
  readonly selfCommand: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

interface Abilities {
  readonly cgroup: boolean;
}

const probeMaxMs = 10_000;
const run = promisify(execFile);

export async function chooseKeeper(deps: ChooseKeeperDeps): Promise<KeeperChoice> {
  if (deps.mode === "node") return chooseNode(deps, "SAND_KEEPER is node");
  const found = findShim({ dataRoot: deps.dataRoot });
  if (found.kind === "missing") return chooseNode(deps, found.reason);
  const place = findCgroupPlace(deps.dataRoot);
  const probe = await probeShim(found.path, place?.nextPath());
  if (typeof probe === "string") return chooseNode(deps, probe);
  return chooseShim(deps, found.path, probe.cgroup ? place : undefined);
}

function chooseShim(deps: ChooseKeeperDeps, path: string, place: CgroupPlace | undefined): KeeperChoice {
  return {
    pool: {
      command: [path, "keep"],
      env: deps.env,
      cwd: deps.dataRoot,
      encode: ({ folder, start }) => encodeShimOrder(folder, start.launch, place?.nextPath()),
      syncsIntents: true,
      tellsRecords: true,
    },
    whyNoShim: undefined,
    whyNoCgroup: place === undefined ? "no control group can be made here" : undefined,
    sweep: () => place?.sweep() ?? true,
  };
}

function chooseNode(deps: ChooseKeeperDeps, reason: string): KeeperChoice {
  if (deps.mode === "shim") {
    throw new BoxError("config/invalid", `SAND_KEEPER is shim, and the shim can't be used: ${reason}`, {
      hint: "build it with a C compiler (node scripts/build-shim.mjs), or set SAND_KEEPER=auto",
    });
  }
  return {
    pool: {
      command: [...deps.selfCommand, "keeper"],
      env: deps.env,
      cwd: deps.dataRoot,
      encode: ({ folder }) => Buffer.from(`${JSON.stringify({ folder })}\n`),
      syncsIntents: false,
      tellsRecords: false,
    },
    whyNoShim: reason,
    whyNoCgroup: "only the native shim starts commands in control groups",
    sweep: () => true,
  };
}

/** What it can do, or why it can't be used. */
async function probeShim(path: string, cgroup: string | undefined): Promise<Abilities | string> {
  try {
    const args = cgroup === undefined ? ["probe"] : ["probe", cgroup];
    const { stdout } = await run(path, args, { env: {}, timeout: probeMaxMs });
    const said: unknown = JSON.parse(stdout);
    const hasCgroup = typeof said === "object" && said !== null && "cgroup" in said && said.cgroup === true;
    return { cgroup: hasCgroup };
  } catch (error) {
    return `it can't be run: ${error instanceof Error ? error.message : String(error)}`;
  }
}
