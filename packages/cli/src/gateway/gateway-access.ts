/**
 * The gateway as the commands use it: found once, and found again after the host was started anew, because a host on
 * "any port" comes back on another one.
 */

import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { resolveDataRoot } from "../data-root.ts";
import { findGateway } from "./find-gateway.ts";
import { createGatewayClient, type GatewayClient, type Health, whereToLook } from "./gateway-client.ts";

export interface GatewayAccess {
  client(): GatewayClient;
  /** reads the discovery file again */
  relocate(): GatewayClient;
}

export function createGatewayAccess(context: CommandContext): GatewayAccess {
  const { config, dataRoot } = context;
  const find = (): GatewayClient | undefined => {
    const location = findGateway(config, dataRoot);
    return location === undefined ? undefined : createGatewayClient(location);
  };
  let current = find();
  const need = (): GatewayClient => {
    if (current === undefined) {
      throw new CommandFailure("notRunning", `no host runs with its data in ${dataRoot}`, {
        hint: `start one: ${startCommand(context)}`,
      });
    }
    return current;
  };
  return {
    client: need,
    relocate: () => {
      current = find() ?? current;
      return need();
    },
  };
}

/** `sand up`, with the data root when it isn't the one that a bare `sand up` would take */
function startCommand({ config, dataRoot }: CommandContext): string {
  const hasUsual = config.dataRoot !== undefined || config.home !== undefined;
  if (hasUsual && dataRoot === resolveDataRoot(config, undefined)) return "sand up";
  const isPlain = /^[\w./-]+$/u.test(dataRoot);
  return `sand up --data-root ${isPlain ? dataRoot : `'${dataRoot.replaceAll("'", "'\\''")}'`}`;
}

/** For what would wait for a host patiently: one that isn't there at the beginning is an error at once. */
export async function requireHealth(client: GatewayClient): Promise<Health> {
  const health = await client.health();
  if (health !== undefined) return health;
  throw new CommandFailure("notRunning", `no host answers at ${client.location.url}`, {
    hint: whereToLook(client.location),
  });
}
