/**
 * Reads the agents' stores from outside, with Node's own SQLite and from copies, so that neither the host's code nor
 * its open files take part in judging it.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { objectOf } from "./journal-view.ts";
import { openPayloads, type PayloadReader } from "./read-payloads.ts";
import type { PromptEvidence, TurnEvidence } from "./sweep-evidence.ts";

export interface StoreContents {
  readonly agentId: string;
  readonly prompts: readonly PromptEvidence[];
  readonly turns: readonly TurnEvidence[];
  readonly eventSeqs: readonly number[];
}

type Row = Readonly<Record<string, unknown>>;

export function readStores(dataRoot: string): readonly StoreContents[] {
  return findStores(dataRoot).map(({ agentId, path }) => ({ agentId, ...withCopy(path, readStore) }));
}

/** what a turn was doing when its host died */
export type OpenTurnState = "model call" | "tool running" | "between";

/** The open turns of all agents. Reads little, since it's asked after every kill. */
export function readOpenTurns(dataRoot: string): readonly OpenTurnState[] {
  return findStores(dataRoot).flatMap(({ path }) => withCopy(path, readOpenTurn) ?? []);
}

/** the committed events of the whole host, in order */
export interface StoredEvent {
  readonly seq: number;
  readonly channel: string;
  readonly payload: string;
}

export function readEvents(dataRoot: string): readonly StoredEvent[] {
  const files = [...findStores(dataRoot).map(({ path }) => path), join(dataRoot, "host.db")];
  const events = files.filter(existsSync).flatMap((path) => withCopy(path, selectEvents));
  return events.sort((a, b) => a.seq - b.seq);
}

function selectEvents(database: DatabaseSync, payloads: PayloadReader): readonly StoredEvent[] {
  return all(database, "SELECT seq, channel, payload FROM events ORDER BY seq").map((row) => ({
    seq: Number(row.seq),
    channel: String(row.channel),
    payload: JSON.stringify(payloads.unpack(String(row.payload))),
  }));
}

function findStores(dataRoot: string): readonly { readonly agentId: string; readonly path: string }[] {
  const folder = join(dataRoot, "agents");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((agentId) => ({ agentId, path: join(folder, agentId, "store.db") }))
    .filter(({ path }) => existsSync(path));
}

/** The write-ahead log is copied too: a killed host leaves its newest commits there. */
function withCopy<T>(path: string, read: (database: DatabaseSync, payloads: PayloadReader) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "sand-store-copy-"));
  try {
    const copy = join(folder, "store.db");
    for (const suffix of ["", "-wal"]) {
      if (existsSync(`${path}${suffix}`)) cpSync(`${path}${suffix}`, `${copy}${suffix}`);
    }
    const database = new DatabaseSync(copy);
    using payloads = openPayloads(path, folder);
    try {
      return read(database, payloads);
    } finally {
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readStore(database: DatabaseSync, payloads: PayloadReader): Omit<StoreContents, "agentId"> {
  if (!hasTables(database)) return { prompts: [], turns: [], eventSeqs: [] };
  const records = Map.groupBy(
    all(database, "SELECT turn_id, kind, body FROM turn_records ORDER BY turn_id, ordinal"),
    (row) => String(row.turn_id),
  );
  return {
    prompts: all(database, "SELECT nonce, prompt_id, entry_id, turn_id FROM prompts ORDER BY ordinal").map(
      (row) => ({
        nonce: String(row.nonce),
        promptId: String(row.prompt_id),
        entryId: String(row.entry_id),
        turnId: row.turn_id === null ? null : String(row.turn_id),
      }),
    ),
    turns: all(database, "SELECT turn_id, generation, state, outcome FROM turns ORDER BY generation").map(
      (row) => ({
        turnId: String(row.turn_id),
        generation: Number(row.generation),
        state: String(row.state),
        outcome: row.outcome === null ? null : String(row.outcome),
        records: (records.get(String(row.turn_id)) ?? []).map((row) => ({
          kind: String(row.kind),
          body: objectOf(payloads.unpack(String(row.body))),
        })),
      }),
    ),
    eventSeqs: selectEvents(database, payloads).map((event) => event.seq),
  };
}

function readOpenTurn(database: DatabaseSync): OpenTurnState | undefined {
  if (!hasTables(database)) return undefined;
  const kinds = all(
    database,
    `SELECT r.kind FROM turn_records r JOIN turns t ON t.turn_id = r.turn_id
     WHERE t.state = 'open' ORDER BY r.ordinal`,
  ).map((row) => String(row.kind));
  const [turn] = all(database, "SELECT turn_id FROM turns WHERE state = 'open'");
  if (turn === undefined) return undefined;
  const intended = kinds.filter((kind) => kind === "toolIntended").length;
  const settled = kinds.filter((kind) => kind === "toolSettled").length;
  if (intended > settled) return "tool running";
  const lastOfModel = kinds.findLast((kind) => kind.startsWith("step"));
  return lastOfModel === "stepPrepared" ? "model call" : "between";
}

/** A host killed while it made the file leaves one without tables. */
function hasTables(database: DatabaseSync): boolean {
  return all(database, "SELECT name FROM sqlite_master WHERE name = 'turn_records'").length === 1;
}

function all(database: DatabaseSync, sql: string): readonly Row[] {
  return database.prepare(sql).all();
}
