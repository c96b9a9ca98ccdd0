/**
 * The agents' rows and the newest claims of nonces, in memory and behind them on disk.
 *
 * Rows change with each entry of each agent, so a change is seen at once and written a moment later, the latest state
 * only: an fsync for each would cost more than the entries do. That the memory is ahead of the disk is harmless here:
 * rows are a cache of the stores, and a boot reads again what a crash left behind. A row that couldn't be written is
 * written with the next change.
 */
import type { IndexedAgent } from "@sand/agent-core";
import type { Logger } from "@sand/node-kit";
import type { AgentId, ClientNonce, Clock } from "@sand/protocol";
import type { GroupCommit } from "./group-commit.ts";
import type { IndexTx } from "./index-file.ts";
import { createNonceClaims } from "./nonce-claims.ts";

export interface Roster {
  /** what the file holds, before anything else is asked or told */
  load(rows: readonly IndexedAgent[]): void;
  agents(): readonly IndexedAgent[];
  putAgent(row: IndexedAgent): void;
  removeAgent(agentId: AgentId): void;
  /** shows the agent as having an open turn */
  markOpenTurn(agentId: AgentId): void;
  claimNonce(nonce: ClientNonce, agentId: AgentId): void;
  /** a claim that isn't on disk yet */
  findClaim(nonce: ClientNonce): AgentId | undefined;
  /** the agent has committed events up to `seq`; a row that isn't there yet takes it from `putAgent` */
  noteLastSeq(agentId: AgentId, seq: number): void;
  /** asks for what isn't written yet to be written, now */
  writeRows(): void;
  /** something isn't in a transaction yet */
  isBehind(): boolean;
}

/** how long a changed row waits for more changes, in `ms` */
const rowDelayMs = 200;

export interface RosterDeps {
  readonly group: GroupCommit<IndexTx>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createRoster(deps: RosterDeps): Roster {
  const rows = new Map<AgentId, IndexedAgent>();
  const unwritten = new Set<AgentId>();
  const claims = createNonceClaims();
  let asked = false;
  let timer: NodeJS.Timeout | undefined;

  const isBehind = (): boolean => unwritten.size > 0 || claims.waiting > 0;

  function write(tx: IndexTx): void {
    asked = false;
    const writtenAtMs = deps.clock.nowMs();
    for (const agentId of unwritten) {
      const row = rows.get(agentId);
      if (row === undefined) tx.removeAgent(agentId);
      else tx.putAgent({ ...row, writtenAtMs });
    }
    claims.write(tx);
  }

  async function writeGroup(): Promise<void> {
    let written: readonly AgentId[] = [];
    try {
      await deps.group.submit((tx) => {
        written = [...unwritten];
        write(tx);
        unwritten.clear();
      });
      claims.committed();
    } catch (error) {
      // What was taken is unwritten again; the next change asks for it.
      asked = false;
      claims.undone();
      for (const agentId of written) unwritten.add(agentId);
      deps.logger.warn({ event: "index.rows-not-written", err: error }, "rows of the index weren't written");
    }
  }

  function writeRows(): void {
    clearTimeout(timer);
    timer = undefined;
    if (asked || !isBehind()) return;
    asked = true;
    void writeGroup();
  }

  function writeSoon(): void {
    timer ??= setTimeout(writeRows, rowDelayMs).unref();
  }

  function changed(agentId: AgentId): void {
    unwritten.add(agentId);
    writeSoon();
  }

  return {
    load(stored) {
      for (const { agentId, summary, lastSeq, hasOpenTurn } of stored) {
        rows.set(agentId, { agentId, summary, lastSeq, hasOpenTurn });
      }
    },
    agents: () => [...rows.values()],
    putAgent(row) {
      rows.set(row.agentId, row);
      changed(row.agentId);
    },
    removeAgent(agentId) {
      rows.delete(agentId);
      claims.drop(agentId);
      unwritten.add(agentId);
      // A deletion isn't followed by more changes, and its nonces should be free soon.
      writeRows();
    },
    markOpenTurn(agentId) {
      const row = rows.get(agentId);
      if (row === undefined || row.hasOpenTurn) return;
      rows.set(agentId, { ...row, hasOpenTurn: true });
      changed(agentId);
    },
    claimNonce(nonce, agentId) {
      claims.claim(nonce, agentId);
      writeSoon();
    },
    findClaim: claims.find,
    noteLastSeq(agentId, seq) {
      const row = rows.get(agentId);
      if (row === undefined || row.lastSeq >= seq) return;
      rows.set(agentId, { ...row, lastSeq: seq });
      changed(agentId);
    },
    writeRows,
    isBehind,
  };
}
