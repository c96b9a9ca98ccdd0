/** The native shim beside a ledger, without the daemon around it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { chooseKeeper } from "../src/keeper/choose-keeper.ts";
import { findShim } from "../src/keeper/find-shim.ts";
import { createKeeperPool, type KeeperPool } from "../src/keeper/keeper-pool.ts";
import { type Ledger, openLedger } from "../src/ledger/ledger.ts";
import type { LaunchPlan } from "../src/ledger/records.ts";
import type { TrackedExecution } from "../src/ledger/tracked-execution.ts";
import { createSpoolReader } from "../src/spool/spool-reader.ts";
import { until } from "./daemon-process.ts";

export interface ShimWorld {
  readonly dataRoot: string;
  readonly ledger: Ledger;
  readonly keepers: KeeperPool;
  readonly whyNoCgroup: string | undefined;
  /** Starts a shell's text, or what the plan says instead, and waits until it has begun or failed. */
  start(executionId: string, script: string, plan?: Partial<LaunchPlan>): Promise<TrackedExecution>;
  /** The same to its end. */
  run(executionId: string, script: string, plan?: Partial<LaunchPlan>): Promise<Ended>;
  /** False while something still runs in a control group of this world. */
  sweep(): boolean;
  dispose(): Promise<void>;
}

export interface Ended {
  readonly execution: TrackedExecution;
  readonly code: number | null | undefined;
  readonly signal: string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

const patientMs = 60_000;

/** Where no compiler is there is no shim, and nothing to test. */
export const hasShim = findShim({ dataRoot: "/nonexistent" }).kind === "found";

/** A folder of more than a hundred bytes on the way shows that no socket's path depends on it. */
export async function startShimWorld(): Promise<ShimWorld> {
  const top = mkdtempSync(join(tmpdir(), "sand-shim-"));
  const dataRoot = join(top, "d".repeat(120));
  const log = createLogger({ name: "test", level: "error" });
  const ledger = openLedger({ dataRoot, enabled: true, clock: systemClock, log });
  const env = { PATH: process.env.PATH ?? "" };
  const choice = await chooseKeeper({ mode: "shim", dataRoot, selfCommand: [process.execPath], env });
  const keepers = createKeeperPool(choice.pool);

  const start: ShimWorld["start"] = async (executionId, script, plan = {}) => {
    const execution = await ledger.add({
      ...{ version: 1, executionId, digest: "", acceptedAtMs: 0, background: true },
      lineage: { agentId: "", turnId: "" },
      launch: {
        ...{ argv: ["/bin/sh", "-c", script], env: { PATH: process.env.PATH ?? "" }, cwd: "/" },
        ...{ stdin: false, killMs: 0, sandboxed: false, ...plan },
      },
    });
    execution.follow();
    await keepers.give(execution);
    const hasBegun = () => execution.started !== undefined || execution.exit !== undefined || undefined;
    await until("it has begun", hasBegun, patientMs);
    return execution;
  };

  return {
    ...{ dataRoot, ledger, keepers, start, whyNoCgroup: choice.whyNoCgroup, sweep: choice.sweep },
    async run(executionId, script, plan) {
      const execution = await start(executionId, script, plan);
      await until("it is closed", () => execution.closed !== undefined || undefined, patientMs);
      const { exit } = execution;
      const known = exit?.outcome === "known" ? exit.exit : undefined;
      return { execution, code: known?.code, signal: known?.signal, ...readOutput(execution) };
    },
    async dispose() {
      keepers.close();
      ledger.close();
      await until("the control groups are gone", () => choice.sweep() || undefined, patientMs);
      rmSync(top, { recursive: true, force: true });
    },
  };
}

function readOutput({ folder }: TrackedExecution): { stdout: string; stderr: string } {
  const frames = createSpoolReader(folder).read(2, Number.MAX_SAFE_INTEGER);
  const textOf = (stream: string): string =>
    Buffer.concat(frames.filter((frame) => frame.stream === stream).map(({ bytes }) => bytes)).toString();
  return { stdout: textOf("stdout"), stderr: textOf("stderr") };
}
