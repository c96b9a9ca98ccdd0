/**
 * What a row of each table looks like, so that a row can be told from anything else that a damaged page may hold.
 *
 * A row with a checksum is sound when that fits. One from before there were checksums is taken when it makes sense: its
 * JSON parses, and what it says twice agrees. Nothing else is taken.
 */
import { blobsNamedBy } from "../payload.ts";
import { rowSum } from "../row-sums.ts";
import { deliverySum, endSum, promptSum, recordSum, turnSum } from "../rows.ts";
import type { Cell, SqlValue } from "./read-cells.ts";

export type Row = Readonly<Record<string, SqlValue>>;

export type Soundness = "sound" | "unsummed" | "bad";

export interface TableShape {
  readonly table: SalvagedTable;
  readonly columns: readonly string[];
  /** columns of the table's first schema */
  readonly columnsMin: number;
  /** the column that is the row's number */
  readonly numbered?: string;
  keyOf(row: Row): string;
  judge(row: Row): Soundness;
}

export type SalvagedTable =
  | "kv"
  | "transcript_entries"
  | "prompts"
  | "turns"
  | "turn_records"
  | "set_aside"
  | "events";

/** The row that a cell holds, if it is one of this table. */
export function rowOf(shape: TableShape, cell: Cell): Row | undefined {
  const { columns, columnsMin, numbered } = shape;
  if (cell.values.length < columnsMin || cell.values.length > columns.length) return undefined;
  const row: Record<string, SqlValue> = {};
  for (const [index, column] of columns.entries()) {
    row[column] = cell.values[index] ?? (column === "rev" ? 0 : null);
  }
  if (numbered !== undefined) {
    if (row[numbered] !== null || cell.rowid < 1) return undefined;
    row[numbered] = cell.rowid;
  }
  return row;
}

const values: TableShape = {
  table: "kv",
  columns: ["key", "value", "rev", "sum"],
  columnsMin: 2,
  keyOf: (row) => text(row.key),
  judge(row) {
    if (!isText(row.key) || !isText(row.value) || parse(row.value) === undefined) return "bad";
    return bySum(row.sum, rowSum([row.key], row.value));
  },
};

const entries: TableShape = {
  table: "transcript_entries",
  columns: ["seq", "id", "entry", "rev", "sum"],
  columnsMin: 3,
  numbered: "seq",
  keyOf: (row) => text(row.id),
  judge(row) {
    if (!isText(row.id) || !isText(row.entry) || !isNumber(row.seq)) return "bad";
    const entry = parse(row.entry);
    if (!isRecord(entry) || entry.id !== row.id || entry.seq !== row.seq) return "bad";
    return bySum(row.sum, rowSum([row.seq, row.id], row.entry));
  },
};

const promptColumnNames = [
  ...["ordinal", "prompt_id", "nonce", "digest", "entry_id", "accepted_at_ms", "turn_id", "body"],
  ...["sum", "turn_sum"],
];

const prompts: TableShape = {
  table: "prompts",
  columns: promptColumnNames,
  columnsMin: 8,
  numbered: "ordinal",
  keyOf: (row) => text(row.prompt_id),
  judge(row) {
    const { prompt_id, nonce, digest, entry_id, accepted_at_ms, turn_id, body } = row;
    if (!isText(prompt_id) || !isText(nonce) || !isText(digest) || !isText(entry_id)) return "bad";
    if (!isNumber(accepted_at_ms) || !isText(body) || !isPayload(body)) return "bad";
    const begin = bySum(row.sum, promptSum({ prompt_id, nonce, digest, entry_id, accepted_at_ms, body }));
    if (turn_id === null) return row.turn_sum === null ? begin : "bad";
    if (!isText(turn_id)) return "bad";
    const end = bySum(row.turn_sum, deliverySum(prompt_id, turn_id));
    // A row with a sum was written by a program that gives its delivery one too.
    if (begin === "bad" || end === "bad" || (begin === "sound" && end === "unsummed")) return "bad";
    return begin;
  },
};

const turns: TableShape = {
  table: "turns",
  columns: [
    ...["turn_id", "generation", "state", "outcome", "started_at_ms", "settled_at_ms"],
    ...["sum", "end_sum"],
  ],
  columnsMin: 6,
  keyOf: (row) => text(row.turn_id),
  judge(row) {
    const { turn_id, generation, state, outcome, started_at_ms, settled_at_ms } = row;
    if (!isText(turn_id) || !isNumber(generation) || !isNumber(started_at_ms)) return "bad";
    if (outcome !== null && !isText(outcome)) return "bad";
    if (settled_at_ms !== null && !isNumber(settled_at_ms)) return "bad";
    const begin = bySum(row.sum, turnSum(turn_id, generation, started_at_ms));
    const end = bySum(row.end_sum, endSum(turn_id, outcome, settled_at_ms));
    if (begin === "bad" || end === "bad") return "bad";
    const isOver = end === "sound" || (begin === "unsummed" && settled_at_ms !== null);
    return state === (isOver ? "settled" : "open") ? begin : "bad";
  },
};

function records(table: "turn_records" | "set_aside"): TableShape {
  return {
    table,
    columns: ["turn_id", "ordinal", "kind", "call_id", "body", "sum"],
    columnsMin: 5,
    keyOf: (row) => `${text(row.turn_id)} ${text(row.ordinal)}`,
    judge(row) {
      const { turn_id, ordinal, kind, body } = row;
      if (!isText(turn_id) || !isNumber(ordinal) || ordinal < 1) return "bad";
      if (!isText(kind) || !isText(body) || !isPayload(body)) return "bad";
      const record = restOf(body);
      if (!isRecord(record) || record.kind !== kind) return "bad";
      return bySum(row.sum, recordSum(turn_id, ordinal, body));
    },
  };
}

const events: TableShape = {
  table: "events",
  columns: ["seq", "channel", "payload", "sum"],
  columnsMin: 3,
  numbered: "seq",
  keyOf: (row) => text(row.seq),
  judge(row) {
    const { seq, channel, payload } = row;
    if (!isNumber(seq) || !isText(channel) || !isText(payload) || !isPayload(payload)) return "bad";
    return bySum(row.sum, rowSum([seq, channel], payload));
  },
};

export const tableShapes: readonly TableShape[] = [
  ...[values, entries, prompts, turns],
  ...[records("turn_records"), records("set_aside"), events],
];

function bySum(stored: SqlValue | undefined, computed: number): Soundness {
  if (stored === null || stored === undefined) return "unsummed";
  return stored === computed ? "sound" : "bad";
}

/** What stands in the row itself; parts of it may lie in blobs. */
export function restOf(body: string): unknown {
  if (!body.startsWith("@")) return parse(body);
  const naming = parse(body.slice(1));
  return isRecord(naming) ? naming.rest : undefined;
}

function isPayload(body: string): boolean {
  try {
    blobsNamedBy(body);
  } catch {
    // It begins like a row that names blobs, and isn't one.
    return false;
  }
  return restOf(body) !== undefined;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not JSON is an answer here, and JSON has no `undefined`.
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isText(value: SqlValue | undefined): value is string {
  return typeof value === "string";
}

export function isNumber(value: SqlValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value);
}

function text(value: SqlValue | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
