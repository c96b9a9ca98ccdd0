/**
 * Preloaded into a server under measure (`node --import`): how late its event loop runs what is due. At each SIGUSR2 it
 * writes what it has seen since the last one to the file that its own address names (`?file=`).
 */
import { renameSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = new URL(import.meta.url).searchParams.get("file");
const resolutionMs = 1;
const seen = monitorEventLoopDelay({ resolution: resolutionMs });
seen.enable();
const toMs = (ns) => Math.max(0, ns / 1e6 - resolutionMs);
let writes = 0;

process.on("SIGUSR2", () => {
  writes += 1;
  const delay = {
    writes,
    p50Ms: toMs(seen.percentile(50)),
    p99Ms: toMs(seen.percentile(99)),
    maxMs: toMs(seen.max),
  };
  writeFileSync(`${file}.new`, JSON.stringify(delay));
  renameSync(`${file}.new`, file);
  seen.reset();
});
