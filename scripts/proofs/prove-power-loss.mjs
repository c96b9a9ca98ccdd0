/**
 * Power loss of files as a proof: every state that a recorded host may leave, and the controls, each of which breaks one
 * promise and must be found out.
 */
import { join } from "node:path";
import { proveFileStates, whyNoDiskShim } from "../../packages/testkit/src/faults/door.ts";

const weaknesses = ["normal sync", "early acknowledgement", "rename without sync", "no sync"];
/** a control has shown itself after some hundred states, if it can */
const controlStates = 2_000;

/** @param {{bundles: any, seed: number, scale: number, scratch: string, report: (line: string) => void}} run */
export async function provePowerLoss({ bundles, seed, scale, scratch, report }) {
  const missing = whyNoDiskShim();
  if (missing !== undefined) return { figures: {}, findings: [missing] };
  const states = Math.max(300, Math.round(50_000 * scale));
  const liveStarts = 3;
  const stateFile = join(scratch, "file-states.jsonl");
  const { figures, findings } = await proveFileStates({
    bundles,
    seed,
    states,
    liveStarts,
    stateFile,
    report,
  });
  const controls = {};
  const blind = [];
  for (const weakness of weaknesses) {
    const control = await proveFileStates({
      ...{ bundles, seed, weakness, report, states: controlStates, liveStarts: 0, enoughFindings: 1 },
    });
    controls[weakness] = control.findings[0] ?? "nothing was found";
    if (control.findings.length === 0)
      blind.push(`a host with ${weakness} isn't found out: the check is blind`);
  }
  return { figures: { ...figures, controls }, findings: [...findings, ...blind] };
}
