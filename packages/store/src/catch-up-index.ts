/**
 * Repairs the index's rows at boot, where they may be older than their stores.
 *
 * Rows are written after the agents' commits, so a killed host leaves some behind. Only stores that can have moved on
 * are opened: those with a log left over, those written after their row, and those without a row. So a boot costs what
 * was going on, not what is stored.
 */
import type { Logger } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import { type AgentFolder, listAgentFolders } from "./agent-folders.ts";
import type { OpenedIndex, StoredAgent } from "./index-file.ts";
import { indexCounters } from "./index-schema.ts";
import { absorbStore } from "./rebuild-host-index.ts";

export interface CatchUpDeps {
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function catchUpIndex(deps: CatchUpDeps, index: OpenedIndex): void {
  const { tx, database } = index;
  const rows = new Map(tx.agents().map((row) => [row.agentId, row]));
  const closedAtMs = tx.counter(indexCounters.closedAtMs);
  const folders = listAgentFolders(deps.root);
  const behind = folders.filter((folder) => mayBeBehind(folder, rows.get(folder.agentId), closedAtMs));
  const present = new Set(folders.map((folder) => folder.agentId));
  const gone = [...rows.keys()].filter((agentId) => !present.has(agentId));
  if (behind.length === 0 && gone.length === 0) return;
  database.begin();
  try {
    for (const folder of behind) absorbStore(deps, tx, folder);
    // A deletion removes the folder first, so a row without one is what a crash left of it.
    for (const agentId of gone) tx.removeAgent(agentId);
    database.commit();
  } catch (error) {
    database.rollback();
    throw error;
  }
  deps.logger.info(
    { event: "index.caught-up", read: behind.length, removed: gone.length },
    "the index is up to date",
  );
}

/** file times come from a clock that ticks coarsely, so a write may look this much older than it is, in `ms` */
const fileTimeSlackMs = 50;

function mayBeBehind(folder: AgentFolder, row: StoredAgent | undefined, closedAtMs: number): boolean {
  if (row === undefined || folder.hasLog) return true;
  // Before an orderly close all rows were written, so that moment needs no slack.
  return folder.modifiedAtMs > Math.max(row.writtenAtMs - fileTimeSlackMs, closedAtMs);
}
