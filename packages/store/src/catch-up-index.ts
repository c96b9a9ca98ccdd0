/**
 * Repairs the index's rows after a start, where they may be older than their stores.
 *
 * Rows are written after the agents' commits, so a killed host leaves some behind. Only stores that can have moved on
 * are opened: those with a log left over, those written after their row, and those without a row. So a start costs what
 * was going on, not what is stored.
 *
 * 1. It goes in short steps, so that a host with many agents can answer in between.
 * 2. Each step is a transaction of its own. A crash between two leaves stores behind that the next start finds again.
 * 3. No store is open meanwhile: whoever wants one asks the index first, and the index then finishes this.
 */
import type { Logger } from "@sand/node-kit";
import type { AgentId, Clock } from "@sand/protocol";
import { type AgentFolder, listAgentIds, lookAtFolder } from "./agent-folders.ts";
import type { IndexTx, OpenedIndex } from "./index-file.ts";
import { indexCounters } from "./index-schema.ts";
import { absorbStore } from "./rebuild-host-index.ts";

export interface CatchUpDeps {
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** folders that one step looks at; each costs two questions to the file system */
const looksPerStep = 64;
/** stores that one step opens, reads and closes; each costs some milliseconds */
const readsPerStep = 4;

/** `use` gives the open index. Yields where something else may run. */
export function* catchUpIndex(deps: CatchUpDeps, use: () => OpenedIndex): Generator<undefined, void> {
  const written = use().tx.writtenTimes();
  const closedAtMs = use().tx.counter(indexCounters.closedAtMs);
  const gone = new Set(written.keys());
  let read = 0;
  for (const ids of inGroups(listAgentIds(deps.root), looksPerStep)) {
    const found = ids.flatMap((agentId) => lookAtFolder(deps.root, agentId) ?? []);
    // A folder without its store is a loss, and not an agent that was removed.
    for (const agentId of ids) gone.delete(agentId);
    const behind = found.filter((folder) => mayBeBehind(folder, written.get(folder.agentId), closedAtMs));
    yield;
    for (const group of inGroups(behind, readsPerStep)) {
      changeIndex(use(), (tx) => {
        for (const folder of group) absorbStore(deps, tx, folder);
      });
      read += group.length;
      yield;
    }
  }
  // A deletion removes the folder first, so a row without one is what a crash left of it.
  if (gone.size > 0) changeIndex(use(), (tx) => removeAll(tx, gone));
  if (read === 0 && gone.size === 0) return;
  deps.logger.info({ event: "index.caught-up", read, removed: gone.size }, "the index is up to date");
}

function changeIndex({ database, tx }: OpenedIndex, change: (tx: IndexTx) => void): void {
  database.begin();
  try {
    change(tx);
    database.commit();
  } catch (error) {
    database.rollback();
    throw error;
  }
}

function removeAll(tx: IndexTx, agentIds: Iterable<AgentId>): void {
  for (const agentId of agentIds) tx.removeAgent(agentId);
}

/** file times come from a clock that ticks coarsely, so a write may look this much older than it is, in `ms` */
const fileTimeSlackMs = 50;

/** `writtenAtMs` is when the row was written, if there is one. */
function mayBeBehind(folder: AgentFolder, writtenAtMs: number | undefined, closedAtMs: number): boolean {
  if (writtenAtMs === undefined || folder.hasLog) return true;
  // Before an orderly close all rows were written, so that moment needs no slack.
  return folder.modifiedAtMs > Math.max(writtenAtMs - fileTimeSlackMs, closedAtMs);
}

function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
