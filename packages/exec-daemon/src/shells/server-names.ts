/** Which variables of a command are the server's, so that no session can say what they are. */
import type { BoxPolicy } from "../box-policy.ts";
import type { BoxEnvironment } from "../control/box-environment.ts";
import { markerName } from "../ledger/execution-folder.ts";

/** the variable by which what a session left behind can be found */
export const sessionMarkerName = "SAND_SHELL_SESSION";

export interface ServerNamesDeps {
  readonly policy: BoxPolicy;
  readonly environment: Pick<BoxEnvironment, "variables" | "commandSecrets">;
}

export function serverNames(
  { environment }: ServerNamesDeps,
  conversationEnv: Readonly<Record<string, string>>,
  agentId: string,
): readonly string[] {
  return [
    ...[markerName, sessionMarkerName, "DISPLAY"],
    ...Object.keys(environment.variables()),
    ...Object.keys(environment.commandSecrets(agentId)),
    ...Object.keys(conversationEnv),
  ];
}
