/**
 * Keeps what finished executions have printed, and were given, within a bound of bytes: the oldest lose theirs first.
 * Their records stay, so how they ended is known for as long as before, and a reader is told of a gap with its reason.
 *
 * What each holds is measured once, after its end, since nothing is written to it from then on.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@sand/node-kit";
import { segmentIndexes, segmentName } from "../spool/frame.ts";
import { executionFiles } from "./execution-folder.ts";
import { type HeldBytes, planSpoolDrops } from "./plan-retention.ts";
import type { TrackedExecution } from "./tracked-execution.ts";

/** in the folder of an execution whose spool was dropped for the bound; written before the first file goes */
const markName = "spool.dropped";

export function isSpoolDropped(folder: string): boolean {
  return existsSync(join(folder, markName));
}

export interface SpoolDropper {
  /** `finished`: all that are closed. */
  drop(
    finished: readonly { readonly execution: TrackedExecution; readonly endedAtMs: number }[],
  ): Promise<void>;
}

export function createSpoolDropper(bounds: { readonly spoolsMaxBytes: number }, log: Logger): SpoolDropper {
  const measured = new WeakMap<TrackedExecution, number>();

  async function measure(execution: TrackedExecution): Promise<number> {
    const known = measured.get(execution);
    if (known !== undefined) return known;
    const { closed, start } = execution;
    let bytes = 0;
    // Most short commands print nothing, and then there is nothing to look for.
    if (closed !== undefined && closed.stdoutBytes + closed.stderrBytes === 0 && !start.launch.stdin)
      return bytes;
    for (const name of await heldFiles(execution.folder))
      bytes += (await stat(join(execution.folder, name)).catch(() => undefined))?.size ?? 0;
    measured.set(execution, bytes);
    return bytes;
  }

  return {
    async drop(finished) {
      const held: (HeldBytes & { readonly execution: TrackedExecution })[] = [];
      for (const { execution, endedAtMs } of finished)
        held.push({ execution, endedAtMs, bytes: await measure(execution) });
      for (const { execution, bytes } of planSpoolDrops(held, bounds.spoolsMaxBytes)) {
        // Somebody reads it to its end, without loss.
        if (existsSync(join(execution.folder, executionFiles.readerPin))) continue;
        await dropSpool(execution.folder);
        measured.set(execution, 0);
        const { executionId } = execution.start;
        log.info(
          { event: "execution.spool-dropped", executionId, bytes },
          "an old execution's output was dropped",
        );
      }
    },
  };
}

async function dropSpool(folder: string): Promise<void> {
  await writeFile(join(folder, markName), "", { mode: 0o600 });
  for (const name of await heldFiles(folder)) await rm(join(folder, name), { force: true });
}

/** Nothing for one that was forgotten meanwhile. */
async function heldFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const input = names.includes(executionFiles.stdin) ? [executionFiles.stdin] : [];
  return [...input, ...segmentIndexes(names).map(segmentName)];
}
