/** From the spawn to the first `/health`: a bare Node server, a host without agents, and one with 1,000. */
import { join } from "node:path";
import { createTempFolder } from "../packages/testkit/src/index.ts";
import { createAgent, isHealthy, startHost } from "./measure/host-process.mjs";
import { startNode } from "./measure/run-process.mjs";
import { line } from "./measure/statistics.mjs";

const agents = 1_000;

async function startBare() {
  const startedMs = performance.now();
  await using bare = startNode(join(import.meta.dirname, "baseline/health-server.mjs"));
  await isHealthy(`http://127.0.0.1:${(await bare.next()).port}`);
  return performance.now() - startedMs;
}

async function startOnce(folder) {
  await using host = await startHost({ folder });
  return host.readyMs;
}

export async function benchStart({ rounds, report }) {
  await using none = await createTempFolder("bench-start-none");
  await using many = await createTempFolder("bench-start-many");
  await startOnce(none.path);
  {
    await using host = await startHost({ folder: many.path });
    for (let made = 0; made < agents; made += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, at) => createAgent(host, `agent-${made + at}`)));
    }
  }
  const seen = { bare: [], none: [], many: [] };
  for (let round = 0; round < rounds; round += 1) {
    seen.bare.push(await startBare());
    seen.none.push(await startOnce(none.path));
    seen.many.push(await startOnce(many.path));
    report(
      `round ${round + 1}: ${Object.values(seen)
        .map((times) => Math.round(times[round]))
        .join(", ")} ms`,
    );
  }
  const ratio = (one, other) => one.map((value, at) => value / other[at]);
  return [
    line("start to /health beside a bare Node server", ratio(seen.none, seen.bare), {
      bound: "≤ 3×",
      met: (value) => value <= 3,
    }),
    line("start with 1,000 agents beside none", ratio(seen.many, seen.none), {
      bound: "≤ 1.1×",
      met: (value) => value <= 1.1,
    }),
    line("bare Node server", seen.bare, { unit: "ms" }),
    line("host without agents", seen.none, { unit: "ms" }),
    line("host with 1,000 agents", seen.many, { unit: "ms" }),
  ];
}
