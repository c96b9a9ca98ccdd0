/**
 * The agents' rows, in memory and behind them on disk.
 *
 * Rows change with each entry of each agent, so a change is seen at once and written with the next group, the latest
 * state only. That the memory is ahead of the disk is harmless here: rows are a cache of the stores, and a boot reads
 * again what a crash left behind. A row that couldn't be written is written with the next change.
 */
import type { IndexedAgent } from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import type { AgentId, Clock } from "@sand/protocol";
import type { GroupCommit } from "./group-commit.ts";
import type { IndexTx } from "./index-file.ts";

export interface Roster {
  agents(): readonly IndexedAgent[];
  putAgent(row: IndexedAgent): void;
  removeAgent(agentId: AgentId): void;
  /** shows the agent as having an open turn; its mark on disk is the caller's */
  mark(agentId: AgentId): void;
  /** asks for what isn't written yet to be written */
  writeRows(): void;
}

export interface RosterDeps {
  readonly group: GroupCommit<IndexTx>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** what the file holds */
  readonly rows: readonly IndexedAgent[];
}

export function createRoster(deps: RosterDeps): Roster {
  const rows = new Map<AgentId, IndexedAgent>();
  for (const { agentId, summary, lastSeq, hasOpenTurn } of deps.rows) {
    rows.set(agentId, { agentId, summary, lastSeq, hasOpenTurn });
  }
  const unwritten = new Set<AgentId>();
  let asked = false;

  function write(tx: IndexTx): void {
    asked = false;
    const writtenAtMs = deps.clock.nowMs();
    for (const agentId of unwritten) {
      const row = rows.get(agentId);
      if (row === undefined) tx.removeAgent(agentId);
      else tx.putAgent({ ...row, writtenAtMs });
    }
  }

  async function writeGroup(): Promise<void> {
    let written: readonly AgentId[] = [];
    try {
      await deps.group.submit((tx) => {
        written = [...unwritten];
        write(tx);
        unwritten.clear();
      });
    } catch (error) {
      // What was taken is unwritten again; the next change asks for it.
      asked = false;
      for (const agentId of written) unwritten.add(agentId);
      deps.logger.warn({ event: "index.rows-not-written", err: error }, "rows of the index weren't written");
    }
  }

  function writeRows(): void {
    if (asked || unwritten.size === 0) return;
    asked = true;
    void writeGroup();
  }

  function changed(agentId: AgentId): void {
    unwritten.add(agentId);
    writeRows();
  }

  return {
    agents: () => [...rows.values()],
    putAgent(row) {
      rows.set(row.agentId, row);
      changed(row.agentId);
    },
    removeAgent(agentId) {
      rows.delete(agentId);
      changed(agentId);
    },
    mark(agentId) {
      const row = rows.get(agentId);
      if (row !== undefined) rows.set(agentId, { ...row, hasOpenTurn: true });
    },
    writeRows,
  };
}
