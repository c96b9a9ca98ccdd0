/**
 * Turns a configuration into what is run: the same plan as a command's, by the same policy, with one difference. The
 * environment doesn't travel in the argument list, where any program of the machine could read a secret, but through a
 * descriptor that the first step of the server's own process reads. So no other process ever has it, the sandbox's own
 * among them.
 */
import { create } from "@bufbuild/protobuf";
import { StartRequestSchema } from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import type { LaunchPlan } from "../ledger/records.ts";
import { planLaunch } from "../processes/plan-launch.ts";
import type { StdioConfig } from "./server-config.ts";

/** the descriptor that carries the environment: those from 3 on and 9 are the sandbox's, and a shell knows one digit */
export const environmentFd = 8;

/** Reads the variables, closes every descriptor that isn't the server's, and becomes the server. */
const bootstrap = `eval "$(/bin/cat <&${environmentFd})"; exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; exec "$@"`;

export function planServer(policy: BoxPolicy, config: StdioConfig, marker: string): LaunchPlan {
  const request = create(StartRequestSchema, {
    processId: marker,
    command: {
      case: "argv",
      value: { args: ["/bin/sh", "-c", bootstrap, "sh", ...config.command] },
    },
    cwd: config.cwd,
    stdin: true,
    sandbox: { writableRoots: [...config.writableRoots], maskedPaths: [...config.maskedPaths] },
  });
  return planLaunch(policy, request, { executor: "mcp", opener: "itself" });
}

/** Shell text that sets the variables, whatever their values hold. */
export function writeEnvironment(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    .join("");
}
