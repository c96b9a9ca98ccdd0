/** The statements on `host.db`, prepared once for each opening. */
import type { IndexedAgent } from "@sand/agent-core";
import {
  type AgentId,
  BoxError,
  brandId,
  type ClientNonce,
  type CommittedEvent,
  type JsonObject,
} from "@sand/protocol";
import { createEventLog, type EventLog } from "./event-log.ts";
import type { GroupTarget } from "./group-commit.ts";
import { indexMigrations } from "./index-schema.ts";
import { migrate } from "./migrate.ts";
import { packPayload, unpackPayload } from "./payload.ts";
import { checkSum, rowSum } from "./row-sums.ts";
import { type Connection, openDatabase, type StoreDatabase } from "./sqlite.ts";

export interface Creation {
  readonly agentId: AgentId;
  readonly digest: string;
}

/** an agent's row, and when it was written */
export interface StoredAgent extends IndexedAgent {
  readonly writtenAtMs: number;
}

export interface IndexReads {
  agents(): readonly StoredAgent[];
  /** when each row was written; costs no reading of the rows themselves */
  writtenTimes(): ReadonlyMap<AgentId, number>;
  hasOpenTurns(): boolean;
  findNonce(nonce: ClientNonce): AgentId | undefined;
  findCreation(nonce: ClientNonce): Creation | undefined;
  counter(name: string): number;
}

export interface IndexTx extends IndexReads {
  putAgent(row: StoredAgent): void;
  /** with its nonces and its mark; creations stay, so that a late retry doesn't bring the agent back */
  removeAgent(agentId: AgentId): void;
  /** replaces an earlier owner */
  putNonce(nonce: ClientNonce, agentId: AgentId): void;
  recordCreation(nonce: ClientNonce, creation: Creation): void;
  setCounter(name: string, value: number): void;
  emit(event: CommittedEvent): void;
}

export interface OpenedIndex extends GroupTarget<IndexTx> {
  readonly log: EventLog;
}

export function openIndexFile(
  path: string,
  create: boolean,
  openFile: typeof openDatabase = openDatabase,
): OpenedIndex {
  const database = openFile({ path, create });
  try {
    return prepareIndex(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepareIndex(database: StoreDatabase): OpenedIndex {
  const { connection } = database;
  migrate(connection, indexMigrations);
  const log = createEventLog(connection);
  const events: CommittedEvent[] = [];
  const reads = createReads(connection);
  return {
    database,
    log,
    events,
    tx: {
      ...reads,
      ...writeAgents(connection),
      ...writeLedgers(connection),
      emit(event) {
        log.append(event);
        events.push(event);
      },
    },
    finish: () => log.trim(events),
    committed: () => log.committed(),
  };
}

interface AgentSqlRow {
  readonly agent_id: string;
  readonly summary: string;
  readonly last_seq: number;
  readonly written_at_ms: number;
  readonly open_turn: number;
  readonly sum: number | null;
}

interface NonceSqlRow {
  readonly agent_id: string;
  readonly sum: number | null;
}

interface CreationSqlRow extends NonceSqlRow {
  readonly digest: string;
}

function createReads(connection: Connection): IndexReads {
  const agents = connection.prepare<unknown[], AgentSqlRow>(
    `SELECT agent_id, summary, last_seq, written_at_ms, sum,
            EXISTS (SELECT 1 FROM open_turns WHERE open_turns.agent_id = agents.agent_id) AS open_turn
     FROM agents ORDER BY agent_id`,
  );
  const times = connection.prepare<unknown[], { agent_id: string; written_at_ms: number }>(
    "SELECT agent_id, written_at_ms FROM agents",
  );
  const openTurn = connection.prepare("SELECT 1 FROM open_turns LIMIT 1");
  const nonce = connection.prepare<unknown[], NonceSqlRow>(
    "SELECT agent_id, sum FROM nonces WHERE nonce = ?",
  );
  const creation = connection.prepare<unknown[], CreationSqlRow>(
    "SELECT agent_id, digest, sum FROM creations WHERE nonce = ?",
  );
  const counter = connection.prepare<unknown[], number>("SELECT value FROM counters WHERE name = ?").pluck();
  return {
    agents: () => agents.all().map(agentFromRow),
    writtenTimes: () =>
      new Map(times.all().map((row) => [brandId<AgentId>(row.agent_id), row.written_at_ms])),
    hasOpenTurns: () => openTurn.get() !== undefined,
    findNonce(key) {
      const row = nonce.get(key);
      if (row === undefined) return undefined;
      checkSum(`nonce of ${row.agent_id}`, row.sum, rowSum([key, row.agent_id]));
      return brandId<AgentId>(row.agent_id);
    },
    findCreation(key) {
      const row = creation.get(key);
      if (row === undefined) return undefined;
      checkSum(`creation of ${row.agent_id}`, row.sum, rowSum([key, row.agent_id, row.digest]));
      return { agentId: brandId<AgentId>(row.agent_id), digest: row.digest };
    },
    counter: (name) => counter.get(name) ?? 0,
  };
}

function writeAgents(connection: Connection): Pick<IndexTx, "putAgent" | "removeAgent"> {
  const put = connection.prepare(
    "INSERT OR REPLACE INTO agents (agent_id, summary, last_seq, written_at_ms, sum) VALUES (?, ?, ?, ?, ?)",
  );
  const remove = connection.prepare("DELETE FROM agents WHERE agent_id = ?");
  const removeNonces = connection.prepare("DELETE FROM nonces WHERE agent_id = ?");
  const mark = connection.prepare("INSERT OR IGNORE INTO open_turns (agent_id) VALUES (?)");
  const clear = connection.prepare("DELETE FROM open_turns WHERE agent_id = ?");
  return {
    putAgent(row) {
      const summary = packPayload(row.summary);
      const sum = rowSum([row.agentId, row.lastSeq, row.writtenAtMs], summary);
      put.run(row.agentId, summary, row.lastSeq, row.writtenAtMs, sum);
      if (row.hasOpenTurn) mark.run(row.agentId);
      else clear.run(row.agentId);
    },
    removeAgent(agentId) {
      remove.run(agentId);
      removeNonces.run(agentId);
      clear.run(agentId);
    },
  };
}

function writeLedgers(connection: Connection): Pick<IndexTx, "putNonce" | "recordCreation" | "setCounter"> {
  const put = connection.prepare("INSERT OR REPLACE INTO nonces (nonce, agent_id, sum) VALUES (?, ?, ?)");
  const create = connection.prepare(
    "INSERT INTO creations (nonce, agent_id, digest, sum) VALUES (?, ?, ?, ?)",
  );
  const setCounter = connection.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)");
  return {
    putNonce: (nonce, agentId) => void put.run(nonce, agentId, rowSum([nonce, agentId])),
    recordCreation(nonce, { agentId, digest }) {
      create.run(nonce, agentId, digest, rowSum([nonce, agentId, digest]));
    },
    setCounter: (name, value) => void setCounter.run(name, value),
  };
}

function agentFromRow(row: AgentSqlRow): StoredAgent {
  const { agent_id, last_seq, written_at_ms } = row;
  checkSum(`agent ${agent_id}`, row.sum, rowSum([agent_id, last_seq, written_at_ms], row.summary));
  return {
    agentId: brandId<AgentId>(row.agent_id),
    summary: readSummary(row),
    lastSeq: row.last_seq,
    hasOpenTurn: row.open_turn === 1,
    writtenAtMs: row.written_at_ms,
  };
}

/** SQLite doesn't notice a byte that was changed within a text; here it may show, and the row can be made again. */
function readSummary(row: AgentSqlRow): JsonObject {
  try {
    return unpackPayload<JsonObject>(row.summary);
  } catch (error) {
    throw new BoxError("store/damaged", "a row of the index can't be read", { cause: error });
  }
}
