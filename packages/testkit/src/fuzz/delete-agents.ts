/**
 * Deletes every agent that a load has made. What an agent takes in memory is no leak as long as it is there, so the
 * host is measured without them.
 */
import { callOrFail, fieldOf, type GatewayAccess, listOf, textOf } from "../gateway-client.ts";

const idsPerRequest = 100;

/** Returns how many there were. */
export async function deleteAllAgents(access: GatewayAccess): Promise<number> {
  const roster = listOf(await callOrFail(access, "listAgents", {}));
  const ids = roster.map((agent) => textOf(fieldOf(agent, "id")));
  for (let from = 0; from < ids.length; from += idsPerRequest) {
    await callOrFail(access, "deleteAgents", { ids: ids.slice(from, from + idsPerRequest) });
  }
  return ids.length;
}
