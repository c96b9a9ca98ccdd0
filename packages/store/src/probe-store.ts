/**
 * Looks into an agent's store from outside, to put its row into the index. The store stays closed afterwards.
 *
 * The store says two things about itself under known keys: `summary`, its row of the roster, and `creation`, the
 * nonce and digest under which it was made. A store without a summary was never finished and isn't in the roster.
 */
import { brandId, type ClientNonce, type JsonObject } from "@sand/protocol";
import type { AgentFolder } from "./agent-folders.ts";
import { agentMigrations } from "./agent-schema.ts";
import { migrate } from "./migrate.ts";
import { claimFile, refuseForeign } from "./own-file.ts";
import { unpackPayload } from "./payload.ts";
import { checkFiles } from "./recovery/check-cheaply.ts";
import { checkSum, rowSum } from "./row-sums.ts";
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
export function probeStore(
  { agentId, storePath }: Pick<AgentFolder, "agentId" | "storePath">,
  onNonce: (nonce: ClientNonce) => boolean,
): ProbedStore {
  checkFiles(storePath);
  const database = openDatabase({ path: storePath, create: false });
  try {
    const { connection } = database;
    migrate(connection, agentMigrations, () => claimFile(connection, agentId));
    refuseForeign(connection, agentId);
    readNonces(connection, onNonce);
    return readRow(connection);
  } finally {
    database.close();
  }
}

function readRow(connection: Connection): ProbedStore {
  const row = connection.prepare<unknown[], { readonly value: string; readonly sum: number | null }>(
    "SELECT value, sum FROM kv WHERE key = ?",
  );
  const value = (key: string): string | undefined => {
    const found = row.get(key);
    if (found !== undefined) checkSum(`value ${key}`, found.sum, rowSum([key], found.value));
    return found?.value;
  };
  const number = (sql: string): number => connection.prepare<unknown[], number>(sql).pluck().get() ?? 0;
  const summary = value(indexedKeys.summary);
  const creation = value(indexedKeys.creation);
  return {
    summary: summary === undefined ? undefined : unpackPayload<JsonObject>(summary),
    creation:
      creation === undefined
        ? undefined
        : unpackPayload<{ readonly nonce: ClientNonce; readonly digest: string }>(creation),
    lastSeq: number(`SELECT max((SELECT coalesce(max(seq), 0) FROM events),
                               (SELECT coalesce(max(value), 0) FROM counters
                                WHERE name = 'events_trimmed_through'))`),
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
