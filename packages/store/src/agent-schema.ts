/**
 * The tables of an agent's `store.db`. `kv` and `transcript_entries` have the shape that other programs read (contract
 * gateway, data directory); the rest is ours. A released step is never edited: a change is a new step at the end.
 */
import type { Migrations } from "./migrate.ts";

const first = `
CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE transcript_entries (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, entry TEXT NOT NULL) STRICT;
CREATE INDEX transcript_main_window ON transcript_entries (seq)
  WHERE json_extract(entry, '$.kind') <> 'tool-call' AND coalesce(json_extract(entry, '$.branched'), 0) = 0;
CREATE INDEX transcript_branched ON transcript_entries (seq)
  WHERE coalesce(json_extract(entry, '$.branched'), 0) <> 0;

CREATE TABLE prompts (
  ordinal INTEGER PRIMARY KEY,
  prompt_id TEXT NOT NULL UNIQUE,
  nonce TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  accepted_at_ms INTEGER NOT NULL,
  turn_id TEXT,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX prompts_pending ON prompts (ordinal) WHERE turn_id IS NULL;

CREATE TABLE turns (
  turn_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('open', 'settled')),
  outcome TEXT,
  started_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX turns_one_open ON turns (state) WHERE state = 'open';

CREATE TABLE turn_records (
  turn_id TEXT NOT NULL REFERENCES turns (turn_id),
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call_id TEXT,
  body TEXT NOT NULL,
  PRIMARY KEY (turn_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX turn_records_one_result ON turn_records (call_id) WHERE kind = 'toolSettled';

CREATE TABLE events (seq INTEGER PRIMARY KEY, channel TEXT NOT NULL, payload TEXT NOT NULL) STRICT;

CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** Pages of a span of time and threads, without a scan of the transcript. */
const second = `
CREATE INDEX transcript_times ON transcript_entries (json_extract(entry, '$.timestampMs'));
CREATE INDEX transcript_replies ON transcript_entries (json_extract(entry, '$.replyToId'))
  WHERE json_extract(entry, '$.replyToId') IS NOT NULL;
`;

/**
 * Which payloads lie in the blobs beside the store. One that a prompt or a record names stays as long as the agent, in the
 * order of its first naming; one that only an event names goes when that event is trimmed.
 */
const third = `
CREATE TABLE payloads (ordinal INTEGER PRIMARY KEY, blob TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL) STRICT;
CREATE TABLE event_payloads (blob TEXT PRIMARY KEY, last_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/**
 * What recovery needs: a checksum in each row (`row-sums.ts`), how often a row was replaced, whose file this is, and a
 * place for records of turns that have lost others. No row but an event is ever deleted, and of events one counter says
 * which are gone, so that no row needs a mark of its own for that. A prompt and a turn change once: that has its own sum.
 */
const fourth = `
ALTER TABLE kv ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE kv ADD COLUMN sum INTEGER;
ALTER TABLE transcript_entries ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transcript_entries ADD COLUMN sum INTEGER;
ALTER TABLE prompts ADD COLUMN sum INTEGER;
ALTER TABLE prompts ADD COLUMN turn_sum INTEGER;
ALTER TABLE turns ADD COLUMN sum INTEGER;
ALTER TABLE turns ADD COLUMN end_sum INTEGER;
ALTER TABLE turn_records ADD COLUMN sum INTEGER;
ALTER TABLE events ADD COLUMN sum INTEGER;
CREATE TABLE owner (only INTEGER PRIMARY KEY CHECK (only = 1), agent_id TEXT NOT NULL) STRICT;
CREATE TABLE set_aside (
  turn_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call_id TEXT,
  body TEXT NOT NULL,
  sum INTEGER,
  PRIMARY KEY (turn_id, ordinal)
) STRICT, WITHOUT ROWID;
`;

export const agentMigrations: Migrations = [first, second, third, fourth];
