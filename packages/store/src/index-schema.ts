/** The tables of `<data root>/host.db`. All but the reserved end of `seq` can be rebuilt from the agents' stores. */
import type { Migrations } from "./migrate.ts";

const first = `
CREATE TABLE agents (
  agent_id TEXT PRIMARY KEY,
  summary TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  written_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE open_turns (agent_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE nonces (nonce TEXT PRIMARY KEY, agent_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX nonces_of_agent ON nonces (agent_id);

CREATE TABLE creations (nonce TEXT PRIMARY KEY, agent_id TEXT NOT NULL, digest TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE events (seq INTEGER PRIMARY KEY, channel TEXT NOT NULL, payload TEXT NOT NULL) STRICT;

CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** checksums (`row-sums.ts`): a row that isn't what was written is made again from the stores */
const second = `
ALTER TABLE agents ADD COLUMN sum INTEGER;
ALTER TABLE nonces ADD COLUMN sum INTEGER;
ALTER TABLE creations ADD COLUMN sum INTEGER;
ALTER TABLE events ADD COLUMN sum INTEGER;
`;

export const indexMigrations: Migrations = [first, second];

/** rows of `counters` */
export const indexCounters = {
  /** all `seq` up to here may be in use */
  reservedThrough: "seq_reserved_through",
  /** no cursor below this can be resumed */
  resumeFloor: "resume_floor",
  /** when the index was last closed in good order, in `ms` */
  closedAtMs: "closed_at_ms",
} as const;
