/** Runs the source rules over the whole repository and prints each finding as `path: rule`. */
import { checkInvariants } from "./checks/invariants.mjs";
import { checkSources } from "./checks/source-rules.mjs";
import { checkWorkspace } from "./checks/workspace-rules.mjs";

const root = process.argv[2] ?? process.cwd();
const findings = [...checkSources(root), ...checkInvariants(root), ...checkWorkspace(root)];
for (const finding of findings) console.error(`${finding.path}: ${finding.rule}`);
if (findings.length > 0) {
  console.error(`${findings.length} findings`);
  process.exitCode = 1;
}
