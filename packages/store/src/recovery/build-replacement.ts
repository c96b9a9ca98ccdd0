/**
 * Writes salvaged rows into a fresh store, checks it as a whole, and closes it so that the one file holds everything.
 * Each row gets its checksum anew. Events aren't taken along: they serve resuming clients, and where some may be lost a
 * client is to read the state again, which is what a trimmed log tells it.
 */
import { type AgentId, BoxError, invariant } from "@sand/protocol";
import { agentMigrations } from "../agent-schema.ts";
import { payloadRootKey } from "../blobs/payload-root-key.ts";
import { migrate } from "../migrate.ts";
import { claimFile } from "../own-file.ts";
import { blobsNamedBy } from "../payload.ts";
import { rowSum } from "../row-sums.ts";
import { deliverySum, endSum, promptSum, recordSum, turnSum } from "../rows.ts";
import { type Connection, openDatabase } from "../sqlite.ts";
import { highestGeneration, type MendedTurns } from "./mend-turns.ts";
import type { Row } from "./table-shapes.ts";
import { isNumber, isText } from "./table-shapes.ts";

export interface Replacement {
  readonly agentId: AgentId;
  readonly values: readonly Row[];
  readonly entries: readonly Row[];
  readonly mended: MendedTurns;
  /** no number up to here may be given out again, and no client resumes from below it */
  readonly highestSeq: number;
}

/** `path` is of a file that isn't there. */
export function buildReplacement(path: string, content: Replacement): void {
  const database = openDatabase({ path, create: true });
  try {
    const { connection } = database;
    migrate(connection, agentMigrations, () => claimFile(connection, content.agentId));
    connection.transaction(() => fill(connection, content))();
    verify(connection, content);
  } finally {
    database.close();
  }
}

function fill(connection: Connection, { values, entries, mended, highestSeq }: Replacement): void {
  fillValues(connection, values, highestGeneration(mended.turns));
  const entry = connection.prepare(
    "INSERT INTO transcript_entries (seq, id, entry, rev, sum) VALUES (?, ?, ?, ?, ?)",
  );
  for (const row of inOrder(entries, "seq")) {
    const body = text(row.entry);
    entry.run(row.seq, row.id, body, row.rev ?? 0, rowSum([number(row.seq), text(row.id)], body));
  }
  fillTurns(connection, mended);
  fillPrompts(connection, mended.prompts);
  fillPayloads(connection, mended);
  connection
    .prepare("INSERT INTO counters (name, value) VALUES ('events_trimmed_through', ?)")
    .run(highestSeq);
}

function fillValues(connection: Connection, values: readonly Row[], generation: number): void {
  const put = connection.prepare(
    `INSERT INTO kv (key, value, rev, sum) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, sum = excluded.sum`,
  );
  for (const row of values) {
    // The root of the payloads is made anew from the rows that name them.
    if (row.key === payloadRootKey) continue;
    put.run(row.key, row.value, row.rev ?? 0, rowSum([text(row.key)], text(row.value)));
  }
  const known = values.find(({ key }) => key === generationKey);
  if (generation <= Number(known?.value ?? 0)) return;
  put.run(generationKey, String(generation), 0, rowSum([generationKey], String(generation)));
}

/** the value that the next turn's generation is counted from */
const generationKey = "generation";

function fillTurns(connection: Connection, { turns, records, setAside }: MendedTurns): void {
  const turn = connection.prepare(
    `INSERT INTO turns (turn_id, generation, state, outcome, started_at_ms, settled_at_ms, sum, end_sum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const row of inOrder(turns, "generation")) {
    const { turn_id, generation, state, outcome, started_at_ms, settled_at_ms } = row;
    const begin = turnSum(text(turn_id), number(generation), number(started_at_ms));
    const settledAtMs = settled_at_ms === null ? null : number(settled_at_ms);
    const end =
      state === "open" ? null : endSum(text(turn_id), outcome === null ? null : text(outcome), settledAtMs);
    turn.run(turn_id, generation, state, outcome, started_at_ms, settledAtMs, begin, end);
  }
  for (const [table, rows] of [
    ["turn_records", records],
    ["set_aside", setAside],
  ] as const) {
    const record = connection.prepare(
      `INSERT INTO ${table} (turn_id, ordinal, kind, call_id, body, sum) VALUES (?, ?, ?, ?, ?, ?)`,
    );
    for (const row of rows) {
      const { turn_id, ordinal, kind, call_id, body } = row;
      record.run(
        turn_id,
        ordinal,
        kind,
        call_id,
        body,
        recordSum(text(turn_id), number(ordinal), text(body)),
      );
    }
  }
}

function fillPrompts(connection: Connection, prompts: readonly Row[]): void {
  const prompt = connection.prepare(
    `INSERT INTO prompts (ordinal, prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body, sum, turn_sum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const row of inOrder(prompts, "ordinal")) {
    const { ordinal, prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body } = row;
    const sum = promptSum({
      ...{ prompt_id: text(prompt_id), nonce: text(nonce), digest: text(digest), entry_id: text(entry_id) },
      ...{ accepted_at_ms: number(accepted_at_ms), body: text(body) },
    });
    const delivery = turn_id === null ? null : deliverySum(text(prompt_id), text(turn_id));
    prompt.run(ordinal, prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body, sum, delivery);
  }
}

function fillPayloads(connection: Connection, { prompts, records, setAside }: MendedTurns): void {
  const keep = connection.prepare("INSERT INTO payloads (blob, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING");
  for (const row of [...inOrder(prompts, "ordinal"), ...records, ...setAside]) {
    for (const { id, bytes } of blobsNamedBy(text(row.body))) keep.run(id, bytes);
  }
}

/** Nothing is used before it is known to be whole, and to hold all that was found. */
function verify(connection: Connection, { entries, mended }: Replacement): void {
  const verdict = connection.pragma("integrity_check(1)", { simple: true });
  const strangers = connection.pragma("foreign_key_check");
  const counts: readonly (readonly [string, number])[] = [
    ["transcript_entries", entries.length],
    ["prompts", mended.prompts.length],
    ["turns", mended.turns.length],
    ["turn_records", mended.records.length],
    ["set_aside", mended.setAside.length],
  ];
  const isFull = counts.every(
    ([table, count]) => connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get() === count,
  );
  if (verdict === "ok" && Array.isArray(strangers) && strangers.length === 0 && isFull) return;
  throw new BoxError("store/damaged", `the repaired store isn't whole: ${String(verdict)}`);
}

function inOrder(rows: readonly Row[], column: string): readonly Row[] {
  return [...rows].sort((a, b) => Number(a[column]) - Number(b[column]));
}

function text(value: Row[string] | undefined): string {
  invariant(isText(value), "a salvaged text is one");
  return value;
}

function number(value: Row[string] | undefined): number {
  invariant(isNumber(value), "a salvaged number is one");
  return value;
}
