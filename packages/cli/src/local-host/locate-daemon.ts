/** Where the execution daemon is now, and how to talk to it; a box that is a container has its own inside alone. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { boxContainer } from "../box-container/start-box.ts";
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { DaemonAddress } from "../exec/box-execution.ts";
import { containerFileName } from "../gateway/find-gateway.ts";
import { bareDaemonToken } from "./call-daemon.ts";
import { daemonTokenName, findDaemon } from "./exec-daemon.ts";
import { readToken } from "./keep-token.ts";

/** `undefined` while none runs. */
export function locateDaemon({ config, dataRoot }: CommandContext): DaemonAddress | undefined {
  const record = findDaemon(dataRoot);
  if (record === undefined) return undefined;
  const token =
    config.secrets.SAND_BOX_EXEC_DAEMON_AUTH_TOKEN ??
    readToken(join(dataRoot, daemonTokenName)) ??
    bareDaemonToken;
  return { rpcPort: record.rpcPort, token };
}

/** A container's daemon listens inside it alone. `instead` is what to do there. */
export function requireLocalBox(context: CommandContext, instead: string): void {
  if (findDaemon(context.dataRoot) !== undefined || !existsSync(join(context.dataRoot, containerFileName)))
    return;
  throw new CommandFailure(
    "notRunning",
    "the box is a container, and its daemon can be reached only inside",
    { hint: instead.replaceAll("{container}", boxContainer) },
  );
}
