/**
 * Kills of the container as a proof: builds the image, kills it while agents work, and runs the control without a
 * ledger, in which the check must find doubled effects. The image is removed afterwards.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { proveContainerKills } from "../../test/container-kills.ts";

/** A control has found something after a few kills, if it can find anything. */
const controlKills = 12;
const isDoubled = (finding) => / happened \d+ times$/u.test(finding);

/** Resolves with `{ figures, findings }`; with `withControl` a control that finds nothing is a finding. */
export async function proveContainer({ kills, seed, withControl, report }) {
  const tag = `sand-box:kills-${process.pid}`;
  const script = join(import.meta.dirname, "..", "build-image.mjs");
  execFileSync(process.execPath, [script, "--tag", tag], { stdio: ["ignore", "ignore", "inherit"] });
  const removeImage = () => spawnSync("docker", ["rmi", "--force", tag], { stdio: "ignore" });
  process.once("exit", removeImage);
  try {
    const shared = { image: tag, seed, report };
    const result = await proveContainerKills({ ...shared, kills, hasLedger: true });
    return withControl ? await addControl(result, shared) : result;
  } finally {
    process.removeListener("exit", removeImage);
    removeImage();
  }
}

async function addControl({ figures, findings }, shared) {
  const control = await proveContainerKills({ ...shared, kills: controlKills, hasLedger: false });
  const doubled = control.findings.filter(isDoubled).length;
  return {
    figures: { ...figures, control: `${doubled} doubled effects in ${controlKills} kills` },
    findings:
      doubled > 0 ? findings : [...findings, "without a ledger nothing was doubled: the check is blind"],
  };
}
