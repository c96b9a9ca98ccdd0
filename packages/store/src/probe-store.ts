/**
 * Looks into an agent's store from outside, to put its row into the index. The store stays closed afterwards.
 *
 * The store says two things about itself under known keys: `summary`, its row of the roster, and `creation`, the
 * nonce and digest under which it was made. A store without a summary was never finished and isn't in the roster.
 */
import { brandId, type ClientNonce, type JsonObject } from "@sand/protocol";
import { agentMigrations } from "./agent-schema.ts";
import { migrate } from "./migrate.ts";
import { unpackPayload } from "./payload.ts";
import { type Connection, openDatabase } from "./sqlite.ts";

/** keys of `kv` that the index is rebuilt from */
export const indexedKeys = { summary: "summary", creation: "creation" } as const;

export interface ProbedStore {
  readonly summary: JsonObject | undefined;
  readonly creation: { readonly nonce: ClientNonce; readonly digest: string } | undefined;
  readonly lastSeq: number;
  /** an open turn, or a prompt that waits for one */
  readonly hasOpenTurn: boolean;
}

/** `onNonce` gets the nonces that the store has accepted, newest first, for as long as it answers true. */
export function probeStore(path: string, onNonce: (nonce: ClientNonce) => boolean): ProbedStore {
  const database = openDatabase({ path, create: false });
  try {
    const { connection } = database;
    migrate(connection, agentMigrations);
    readNonces(connection, onNonce);
    return readRow(connection);
  } finally {
    database.close();
  }
}

function readRow(connection: Connection): ProbedStore {
  const value = connection.prepare<unknown[], string>("SELECT value FROM kv WHERE key = ?").pluck();
  const number = (sql: string): number => connection.prepare<unknown[], number>(sql).pluck().get() ?? 0;
  const summary = value.get(indexedKeys.summary);
  const creation = value.get(indexedKeys.creation);
  return {
    summary: summary === undefined ? undefined : unpackPayload<JsonObject>(summary),
    creation:
      creation === undefined
        ? undefined
        : unpackPayload<{ readonly nonce: ClientNonce; readonly digest: string }>(creation),
    lastSeq: number("SELECT coalesce(max(seq), 0) FROM events"),
    hasOpenTurn:
      number(`SELECT EXISTS (SELECT 1 FROM turns WHERE state = 'open')
                  OR EXISTS (SELECT 1 FROM prompts WHERE turn_id IS NULL)`) === 1,
  };
}

function readNonces(connection: Connection, onNonce: (nonce: ClientNonce) => boolean): void {
  const nonces = connection
    .prepare<unknown[], string>("SELECT nonce FROM prompts ORDER BY ordinal DESC")
    .pluck();
  for (const nonce of nonces.iterate()) if (!onNonce(brandId<ClientNonce>(nonce))) return;
}
