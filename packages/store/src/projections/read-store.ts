/**
 * Reads one agent's store for its projections, beside the thread that writes it.
 *
 * Each read is one short transaction, so the store's log is never kept from being emptied. The store may be of an older
 * schema, since an agent that wasn't opened yet wasn't migrated: only tables and columns of the first one are used.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { TurnRecord } from "@sand/agent-core";
import { type AgentId, BoxError, type JsonObject } from "@sand/protocol";
import { agentsFolder } from "../agent-folders.ts";
import { agentMigrations } from "../agent-schema.ts";
import { createBlobReader } from "../blobs/blob-reader.ts";
import { blobFileName } from "../blobs/blob-schema.ts";
import { storeFileName } from "../open-agent-store.ts";
import { createPayloadCodec, type PayloadCodec, unpackPayload } from "../payload.ts";
import { toStoreError } from "../reopening.ts";
import { type Connection, openBeside } from "../sqlite.ts";

export interface SeenEntry {
  readonly seq: number;
  readonly entryId: string;
  /** nothing when there is no such entry any more */
  readonly entry: JsonObject | undefined;
  /** characters of its row */
  readonly chars: number;
}

export interface SeenEvent {
  readonly seq: number;
  readonly type: string;
  readonly entryId: string | null;
}

export interface SeenRecord {
  readonly turnId: string;
  readonly generation: number;
  readonly ordinal: number;
  readonly record: TurnRecord;
}

/** behind a record: the next one comes after it */
export interface RecordPosition {
  readonly generation: number;
  readonly ordinal: number;
}

export interface StoreReader {
  /** names the file: another one may hold another history */
  readonly storeFile: string;
  /** Runs reads that belong together, on one state of the store. */
  within<T>(read: () => T): T;
  lastSeq(): number;
  /** events up to here may be gone */
  trimmedThrough(): number;
  /** what the event at `seq` was, in short; empty when it isn't there */
  anchorAt(seq: number): string;
  transcriptEvents(afterSeq: number, limit: number): IterableIterator<SeenEvent>;
  findEntry(entryId: string): SeenEntry;
  /** in order, as they are taken */
  entriesAfter(seq: number): IterableIterator<SeenEntry>;
  /** what a journal has lines of, in order, as it is taken */
  recordsAfter(position: RecordPosition): IterableIterator<SeenRecord>;
  /** the name of a call that was made before `ordinal` */
  toolName(turnId: string, ordinal: number, callId: string): string;
  close(): void;
}

/** `undefined` when the agent has no store; `BoxError` when it can't be read. */
export function openStoreReader(root: string, agentId: AgentId): StoreReader | undefined {
  const folder = join(agentsFolder(root), agentId);
  const path = join(folder, storeFileName);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isFile() !== true) return undefined;
  return guarded(() => {
    const connection = openBeside(path);
    try {
      refuseNewer(connection);
      return createReader(connection, folder, `${file.dev}:${file.ino}`);
    } catch (error) {
      connection.close();
      throw error;
    }
  });
}

/** The reader's failures are the store's, so that they are told apart from those of the projection itself. */
function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw toStoreError(error);
  }
}

function refuseNewer(connection: Connection): void {
  const version = Number(connection.pragma("user_version", { simple: true }));
  if (version >= 1 && version <= agentMigrations.length) return;
  throw new BoxError("store/newer-schema", `the store has schema ${version}`);
}

function createReader(connection: Connection, folder: string, storeFile: string): StoreReader {
  const blobs = createBlobReader(join(folder, blobFileName));
  const codec = createPayloadCodec({ readBlob: blobs.read });
  const begin = connection.prepare("BEGIN");
  const commit = connection.prepare("COMMIT");
  return {
    storeFile,
    within: (read) =>
      guarded(() => {
        begin.run();
        try {
          return read();
        } finally {
          if (connection.inTransaction) commit.run();
        }
      }),
    ...readEvents(connection, codec),
    ...readEntries(connection),
    ...readRecords(connection, codec),
    close() {
      blobs.close();
      connection.close();
    },
  };
}

interface EventBody {
  readonly type: string;
  readonly entry?: { readonly id: string };
}

type EventReads = Pick<StoreReader, "lastSeq" | "trimmedThrough" | "anchorAt" | "transcriptEvents">;

function readEvents(connection: Connection, codec: PayloadCodec): EventReads {
  const last = connection.prepare<unknown[], number>("SELECT coalesce(max(seq), 0) FROM events").pluck();
  const trimmed = connection
    .prepare<unknown[], number>("SELECT value FROM counters WHERE name = 'events_trimmed_through'")
    .pluck();
  const payload = connection.prepare<unknown[], string>("SELECT payload FROM events WHERE seq = ?").pluck();
  const events = connection.prepare<unknown[], { readonly seq: number; readonly payload: string }>(
    "SELECT seq, payload FROM events WHERE seq > ? AND channel = 'transcript' ORDER BY seq LIMIT ?",
  );
  const lastSeq = (): number => last.get() ?? 0;
  return {
    // A store whose events are all gone has still given out their numbers.
    lastSeq: () => Math.max(lastSeq(), trimmed.get() ?? 0),
    trimmedThrough: () => trimmed.get() ?? 0,
    anchorAt(seq) {
      const text = payload.get(seq);
      return text === undefined ? "" : createHash("sha256").update(text).digest("hex").slice(0, 32);
    },
    *transcriptEvents(afterSeq, limit) {
      for (const row of events.iterate(afterSeq, limit)) {
        const { type, entry } = codec.unpack<EventBody>(row.payload);
        yield { seq: row.seq, type, entryId: entry?.id ?? null };
      }
    },
  };
}

interface EntryRow {
  readonly seq: number;
  readonly id: string;
  readonly entry: string;
}

function readEntries(connection: Connection): Pick<StoreReader, "findEntry" | "entriesAfter"> {
  const byId = connection.prepare<unknown[], EntryRow>(
    "SELECT seq, id, entry FROM transcript_entries WHERE id = ?",
  );
  const after = connection.prepare<unknown[], EntryRow>(
    "SELECT seq, id, entry FROM transcript_entries WHERE seq > ? ORDER BY seq",
  );
  const seen = ({ seq, id, entry }: EntryRow): SeenEntry => ({
    seq,
    entryId: id,
    entry: unpackPayload<JsonObject>(entry),
    chars: entry.length,
  });
  return {
    findEntry(entryId) {
      const row = byId.get(entryId);
      return row === undefined ? { seq: 0, entryId, entry: undefined, chars: 0 } : seen(row);
    },
    *entriesAfter(seq) {
      for (const row of after.iterate(seq)) yield seen(row);
    },
  };
}

interface TurnRow {
  readonly turn_id: string;
  readonly generation: number;
}

interface RecordRow {
  readonly ordinal: number;
  readonly body: string;
}

function readRecords(
  connection: Connection,
  codec: PayloadCodec,
): Pick<StoreReader, "recordsAfter" | "toolName"> {
  const nextTurn = connection.prepare<unknown[], TurnRow>(
    "SELECT turn_id, generation FROM turns WHERE generation >= ? ORDER BY generation LIMIT 1",
  );
  const records = connection.prepare<unknown[], RecordRow>(
    `SELECT ordinal, body FROM turn_records WHERE turn_id = ? AND ordinal > ?
     AND kind IN ('promptDelivered', 'stepCompleted', 'toolSettled', 'turnSettled') ORDER BY ordinal`,
  );
  const steps = connection
    .prepare<unknown[], string>(
      `SELECT body FROM turn_records WHERE turn_id = ? AND ordinal < ? AND kind = 'stepCompleted'
       ORDER BY ordinal DESC`,
    )
    .pluck();

  function* recordsAfter(position: RecordPosition): IterableIterator<SeenRecord> {
    let { generation, ordinal } = position;
    for (;;) {
      const turn = nextTurn.get(generation);
      if (turn === undefined) return;
      const from = turn.generation === generation ? ordinal : -1;
      for (const row of records.iterate(turn.turn_id, from)) {
        const record = codec.unpack<TurnRecord>(row.body);
        yield { turnId: turn.turn_id, generation: turn.generation, ordinal: row.ordinal, record };
      }
      generation = turn.generation + 1;
      ordinal = -1;
    }
  }

  return {
    recordsAfter,
    toolName(turnId, ordinal, callId) {
      for (const body of steps.iterate(turnId, ordinal)) {
        const record = codec.unpack<TurnRecord>(body);
        if (record.kind !== "stepCompleted") continue;
        const call = record.calls.find((one) => one.callId === callId);
        if (call !== undefined) return call.name;
      }
      return "";
    },
  };
}
