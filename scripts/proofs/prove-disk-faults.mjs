/** Every call to the disk fails once, in each way and for each operation, as a proof. */
import { join } from "node:path";
import { proveDiskFaults as prove, whyNoDiskShim } from "../../packages/testkit/src/faults/door.ts";

/** power cuts that are judged after each series of failures */
const statesAfter = 1_000;

/** @param {{bundles: any, seed: number, scale: number, scratch: string, report: (line: string) => void}} run */
export async function proveDiskFaults({ bundles, seed, scale, scratch, report }) {
  const missing = whyNoDiskShim();
  if (missing !== undefined) return { figures: {}, findings: [missing] };
  return await prove({
    ...{ bundles, seed, report, stateFile: join(scratch, "disk-faults.jsonl") },
    ...(scale === 1 ? { statesAfter } : { sample: Math.max(8, Math.round(800 * scale)), statesAfter: 100 }),
  });
}
