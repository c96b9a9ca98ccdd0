/**
 * Up to where a journal is known to be right: pieces of it, each with its place, its digest and the record that it ends
 * with. They lie in the search index, which may be lost: a journal without marks is compared with what the store says,
 * line by line, and is only written where it differs.
 */
import type { Connection } from "../sqlite.ts";
import type { RecordPosition } from "./read-store.ts";

export interface JournalMark extends RecordPosition {
  readonly begins: number;
  readonly bytes: number;
  /** of these bytes, SHA-256, hex */
  readonly digest: string;
}

export interface KnownJournal {
  readonly storeFile: string;
  /** the file as it was left */
  readonly file: string;
  /** the store's number up to which it was whole */
  readonly through: number;
}

export interface JournalMarks {
  known(agentId: string): KnownJournal | undefined;
  last(agentId: string): JournalMark | undefined;
  /** in order, from a place on */
  from(agentId: string, begins: number, limit: number): readonly JournalMark[];
  /** Replaces a mark that begins at the same place. */
  put(agentId: string, marks: readonly JournalMark[], known: KnownJournal): void;
  /** Forgets what begins at `begins` or behind it. */
  dropFrom(agentId: string, begins: number): void;
  forget(agentId: string): void;
}

const columns = "begins, bytes, digest, generation, ordinal";

export function createJournalMarks(connection: Connection): JournalMarks {
  const known = connection.prepare<unknown[], KnownJournal>(
    `SELECT store_file AS storeFile, file, through FROM journals WHERE agent_id = ?`,
  );
  const last = connection.prepare<unknown[], JournalMark>(
    `SELECT ${columns} FROM journal_marks WHERE agent_id = ? ORDER BY begins DESC LIMIT 1`,
  );
  const from = connection.prepare<unknown[], JournalMark>(
    `SELECT ${columns} FROM journal_marks WHERE agent_id = ? AND begins >= ? ORDER BY begins LIMIT ?`,
  );
  const put = connection.prepare("INSERT OR REPLACE INTO journal_marks VALUES (?, ?, ?, ?, ?, ?)");
  const putKnown = connection.prepare("INSERT OR REPLACE INTO journals VALUES (?, ?, ?, ?)");
  const drop = connection.prepare("DELETE FROM journal_marks WHERE agent_id = ? AND begins >= ?");
  const forget = connection.prepare("DELETE FROM journals WHERE agent_id = ?");
  return {
    known: (agentId) => known.get(agentId),
    last: (agentId) => last.get(agentId),
    from: (agentId, begins, limit) => from.all(agentId, begins, limit),
    put: connection.transaction((agentId: string, marks: readonly JournalMark[], now: KnownJournal) => {
      for (const { begins, bytes, digest, generation, ordinal } of marks)
        put.run(agentId, begins, bytes, digest, generation, ordinal);
      putKnown.run(agentId, now.storeFile, now.file, now.through);
    }).immediate,
    dropFrom: (agentId, begins) => void drop.run(agentId, begins),
    forget: connection.transaction((agentId: string) => {
      drop.run(agentId, 0);
      forget.run(agentId);
    }).immediate,
  };
}
