/**
 * Gives a planned command its secrets. They are handed over in the environment of the process that is started, never in
 * an argument list: of two accounts' commands each could read the other's.
 *
 * Where the command has an account of its own, the program that changes to it starts with an empty environment and the
 * next one sets the command's from its arguments. That one now keeps what it starts with, which is the secrets alone;
 * their names are such that no program on the way is changed by them (`control/trusted-name.ts`).
 */
import type { LaunchPlan } from "../ledger/records.ts";

const wipe = "--ignore-environment";
/** wipes nothing of ours, and keeps the number of words that `undoRunAsUser` counts on */
const keep = "--unset=_";

export function addSecrets(launch: LaunchPlan, secrets: Readonly<Record<string, string>>): LaunchPlan {
  if (Object.keys(secrets).length === 0) return launch;
  if (launch.user === undefined) return { ...launch, env: { ...secrets, ...launch.env } };
  const at = launch.argv.indexOf(wipe);
  return { ...launch, argv: launch.argv.map((word, index) => (index === at ? keep : word)), env: secrets };
}
