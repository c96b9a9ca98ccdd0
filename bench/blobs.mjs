/**
 * Large payloads beside bare better-sqlite3 with the same duty: durable under their SHA-256, checked when read. Ours goes
 * through a thread of its own, so that the host's event loop never waits; the base line does all on one thread.
 */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { runNode } from "./measure/run-process.mjs";
import { line } from "./measure/statistics.mjs";

const baseline = join(import.meta.dirname, "baseline/blob-loop.mjs");
const load = join(import.meta.dirname, "load/blob-load.mjs");
const plan = { bytes: 128 * 1024, seconds: 2, together: 16 };

export async function benchBlobs({ rounds, report }) {
  const seen = [];
  for (let round = 0; round < rounds; round += 1) {
    await using temp = await createTempFolder("bench-blobs");
    const args = [JSON.stringify({ ...plan, folder: temp.path })];
    const bare = await runNode(baseline, args);
    const ours = await runNode(load, args);
    seen.push({ bare, ours });
    report(
      `round ${round + 1}: put ${Math.round(ours.put.perSecond)}/s beside ${Math.round(bare.put.perSecond)}/s, get ${Math.round(ours.get.perSecond)}/s beside ${Math.round(bare.get.perSecond)}/s`,
    );
  }
  const ratio = (what, by) => seen.map(({ bare, ours }) => ours[what][by] / bare[what][by]);
  const bound = { bound: "≥ 0.7×", met: (value) => value >= 0.7 };
  return [
    line("put of 128 KiB, 16 under way, of bare better-sqlite3's rate", ratio("put", "perSecond"), bound),
    line("get of 128 KiB, 16 under way, of the same", ratio("get", "perSecond"), bound),
    line("put, by processor time", ratio("put", "perCpuSecond"), {}),
    line("get, by processor time", ratio("get", "perCpuSecond"), {}),
    line("read on the host's own thread, as text, by processor time", ratio("read", "perCpuSecond"), bound),
    line(
      "puts",
      seen.map(({ ours }) => ours.put.perSecond),
      { unit: "/s" },
    ),
    line(
      "gets",
      seen.map(({ ours }) => ours.get.perSecond),
      { unit: "/s" },
    ),
  ];
}
