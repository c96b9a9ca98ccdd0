/**
 * The tables of `<data root>/search-index.db`. `meta`, `agents`, `messages` and `media` have the columns that other
 * programs read (contract gateway, data directory); the rest is ours. Nothing here is authority: a file of another
 * version is set aside and made again, so there are no migrations.
 *
 * A message's `id` rises with its time, so the words' own order by row is the order in time, and a search ends as soon
 * as it has enough.
 */

/** the name of the index in the data root */
export const searchIndexName = "search-index.db";

/** rises with each change of the tables, the tokens or what is put into a row */
export const searchSchemaVersion = 1;

const tokenizer = `unicode61 remove_diacritics 2 categories 'L* N* Co So'`;

export const searchSchema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE agents (agent_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  role TEXT NOT NULL,
  timestamp_ms INTEGER NOT NULL,
  body TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_of_agent ON messages (agent_id, entry_id);
CREATE VIRTUAL TABLE message_words USING fts5(
  words, content='', contentless_delete=1, prefix='2 3', tokenize="${tokenizer}"
);

CREATE TABLE media (
  id INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  file_name TEXT NOT NULL,
  ext TEXT NOT NULL,
  mime TEXT,
  kind TEXT NOT NULL,
  timestamp_ms INTEGER NOT NULL,
  width INTEGER,
  height INTEGER
) STRICT;
CREATE INDEX media_of_agent ON media (agent_id, entry_id);
CREATE VIRTUAL TABLE media_words USING fts5(
  words, content='', contentless_delete=1, prefix='2 3', tokenize="${tokenizer}"
);

CREATE TABLE positions (
  agent_id TEXT PRIMARY KEY,
  store_file TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('clear', 'scan', 'follow')),
  scanned INTEGER NOT NULL,
  through INTEGER NOT NULL,
  anchor TEXT NOT NULL,
  rechecked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE journals (
  agent_id TEXT PRIMARY KEY,
  store_file TEXT NOT NULL,
  file TEXT NOT NULL,
  through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE journal_marks (
  agent_id TEXT NOT NULL,
  begins INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  digest TEXT NOT NULL,
  generation INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (agent_id, begins)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = ${searchSchemaVersion};
`;
