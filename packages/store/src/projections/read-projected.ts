/**
 * Up to which number each agent is projected, as the index says it. A start looks here whether anything is behind, before
 * it starts a thread for it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { type Connection, openBeside } from "../sqlite.ts";
import { searchIndexName, searchSchemaVersion } from "./search-schema.ts";

/** agents that are indexed at all; one that isn't whole in both projections counts as at -1 */
export function indexedAgents(connection: Connection): ReadonlyMap<string, number> {
  const rows = connection
    .prepare<unknown[], { readonly agentId: string; readonly through: number }>(
      `SELECT positions.agent_id AS agentId,
              CASE WHEN phase = 'follow' AND rechecked IS NULL THEN min(positions.through, coalesce(journals.through, -1)) ELSE -1 END
                AS through
       FROM positions LEFT JOIN journals USING (agent_id)`,
    )
    .all();
  return new Map(rows.map(({ agentId, through }) => [agentId, through]));
}

/** `undefined` when there is no index that can be read. */
export function readProjected(root: string): ReadonlyMap<string, number> | undefined {
  const path = join(root, searchIndexName);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  try {
    const connection = openBeside(path);
    try {
      const version = Number(connection.pragma("user_version", { simple: true }));
      return version === searchSchemaVersion ? indexedAgents(connection) : undefined;
    } finally {
      connection.close();
    }
  } catch {
    // Whatever is wrong with it, the thread finds it too and says what it does about it.
    return undefined;
  }
}
