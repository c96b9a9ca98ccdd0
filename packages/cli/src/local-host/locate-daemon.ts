/**
 * Where the execution daemon is now, and how to talk to it: here, by its file under the data root, else through the
 * gateway, which relays to it and starts it when it isn't there. So a box in a container is reached the same way, and a
 * host that has just come up has a daemon for whoever asks first.
 */

import { join } from "node:path";
import type { CommandContext } from "../command.ts";
import type { DaemonAddress } from "../exec/box-execution.ts";
import { findGateway } from "../gateway/find-gateway.ts";
import { bareDaemonToken } from "./call-daemon.ts";
import { baseOf, type DaemonRecord, daemonTokenName, findDaemon } from "./exec-daemon.ts";
import { readToken } from "./keep-token.ts";

/** `undefined` where there is neither a daemon nor a gateway that could lead to one. */
export function locateDaemon(context: CommandContext): DaemonAddress | undefined {
  const record = findDaemonHere(context);
  return record === undefined
    ? throughGateway(context, "rpc")
    : { base: baseOf(record), token: daemonToken(context) };
}

/** Whoever names a gateway means the box behind it. */
export function findDaemonHere({ config, dataRoot }: CommandContext): DaemonRecord | undefined {
  return config.gatewayUrl === undefined ? findDaemon(dataRoot) : undefined;
}

export function throughGateway(
  { config, dataRoot }: CommandContext,
  door: "rpc" | "pty",
): DaemonAddress | undefined {
  const gateway = findGateway(config, dataRoot);
  return gateway === undefined
    ? undefined
    : { base: `${gateway.url}/box/${door}`, token: gateway.token ?? "" };
}

export function daemonToken({ config, dataRoot }: CommandContext): string {
  return (
    config.secrets.SAND_BOX_EXEC_DAEMON_AUTH_TOKEN ??
    readToken(join(dataRoot, daemonTokenName)) ??
    bareDaemonToken
  );
}
