/**
 * Whose file it is. A file that came into another agent's folder is whole, and all that it says would be wrong there:
 * it is refused, and neither repaired nor written to.
 */
import { type AgentId, BoxError } from "@sand/protocol";
import type { Connection } from "./sqlite.ts";

export function claimFile(connection: Connection, agentId: AgentId): void {
  connection.prepare("INSERT INTO owner (only, agent_id) VALUES (1, ?)").run(agentId);
}

export function refuseForeign(connection: Connection, agentId: AgentId): void {
  const owner = readOwner(connection);
  if (owner !== undefined && owner !== agentId) throw foreignFile(owner);
}

function readOwner(connection: Connection): string | undefined {
  return connection.prepare<unknown[], string>("SELECT agent_id FROM owner").pluck().get();
}

function foreignFile(owner: string): BoxError {
  return new BoxError("store/damaged", `the file is the store of the agent ${JSON.stringify(owner)}`, {
    hint: "move each store back into its agent's folder",
    details: { owner },
  });
}
