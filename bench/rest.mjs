/** Resident memory of a host that has started, answered a little, and has nothing to do. */
import { setTimeout as delay } from "node:timers/promises";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { call, createAgent, readResidentMb, startDaemon, startHost } from "./measure/host-process.mjs";
import { line } from "./measure/statistics.mjs";

const restMs = 3_000;

export async function benchRest({ rounds, report }) {
  const seen = { host: [], daemon: [] };
  for (let round = 0; round < rounds; round += 1) {
    await using temp = await createTempFolder("bench-rest");
    await using daemon = await startDaemon({ folder: temp.path });
    await using host = await startHost({ folder: temp.path });
    await createAgent(host, "resting");
    await call(host, "getHostStatus", {});
    // Rest is a length of time by its nature; nothing is waited for here.
    await delay(restMs);
    seen.host.push(readResidentMb(host.pid));
    seen.daemon.push(readResidentMb(daemon.pid));
    report(
      `round ${round + 1}: host ${Math.round(seen.host[round])} MB, daemon ${Math.round(seen.daemon[round])} MB`,
    );
  }
  return [
    line("host at rest, resident", seen.host, {
      unit: "MB",
      bound: "≤ 120 MB",
      met: (value) => value <= 120,
    }),
    line("daemon at rest, resident", seen.daemon, { unit: "MB" }),
  ];
}
