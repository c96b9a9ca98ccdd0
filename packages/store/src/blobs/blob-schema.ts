/**
 * The table of an agent's `conversation-blobs.db`, in the shape that other programs read (contract gateway, data
 * directory): an id, which is the SHA-256 of the data in hex, and the data. `blob_marks` is ours: where the collector
 * stands. A released step is never edited.
 */
import type { Migrations } from "../migrate.ts";

/** the name of an agent's blob database in its folder */
export const blobFileName = "conversation-blobs.db";

const first = `
CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE blob_marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

export const blobMigrations: Migrations = [first];
