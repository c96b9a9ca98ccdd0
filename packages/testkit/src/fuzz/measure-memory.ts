/** Asks a host that runs with `collect-on-signal.cjs` for its memory after a collection. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { StartedProcess } from "../processes/child-process.ts";
import type { ProcessExtras } from "../processes/sand-world.ts";
import { waitUntil } from "../wait-until.ts";

const preload = join(import.meta.dirname, "collect-on-signal.cjs");
const samples = 5;
const sampleDeadlineMs = 10_000;
/** the allocator gives pages back some time after the collection */
const betweenSamplesMs = 400;

export function memoryExtras(file: string): ProcessExtras {
  return { nodeArgs: ["--expose-gc", "--require", preload], env: { FUZZ_MEMORY_FILE: file } };
}

/** The lowest resident size of some samples, each right after a collection, in `bytes`. */
export async function measureMemory(process: StartedProcess, file: string): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < samples; sample += 1) {
    rmSync(file, { force: true });
    process.kill("SIGUSR2");
    await waitUntil("a memory report", () => existsSync(file), { deadlineMs: sampleDeadlineMs });
    const report: { readonly rss: number } = JSON.parse(readFileSync(file, "utf8"));
    lowest = Math.min(lowest, report.rss);
    await delay(betweenSamplesMs);
  }
  return lowest;
}
