/**
 * Decides which rows of a damaged store are believed.
 *
 * 1. A row that its table's tree reaches and that is sound is one of the store's.
 * 2. Where a tree isn't whole, sound rows from outside of it fill in, the one that was replaced most often first. Where
 *    free pages aren't all known such a row may be one that was replaced since: it is taken only when rows of its kind
 *    never change, or have changed as far as they can.
 * 3. A lost entry comes back from the events, when each of those can be read: the newest says what the entry was last.
 */
import { rowSum } from "../row-sums.ts";
import type { FoundRows, FoundTable } from "./find-rows.ts";
import {
  isRecord,
  isText,
  type Row,
  restOf,
  rowOf,
  type SalvagedTable,
  type TableShape,
  tableShapes,
} from "./table-shapes.ts";

export interface SalvagedRows {
  readonly rows: ReadonlyMap<string, Row>;
  /** whether everything that the table had is known to be here */
  readonly isWhole: boolean;
  /** rows that were read and aren't what was written, by what they say they are */
  readonly damaged: readonly string[];
  /** rows from before there were checksums */
  readonly unsummed: number;
  readonly lostPages: number;
}

export type Salvaged = Readonly<Record<SalvagedTable, SalvagedRows>>;

const nothing: FoundTable = { rows: [], lostPages: [], badCells: 0 };

/** A negative control may leave out what keeps old and damaged rows away. */
export interface SalvageRules {
  readonly believesAll?: boolean;
}

export function salvageRows(found: FoundRows, rules: SalvageRules = {}): Salvaged {
  const take = (name: SalvagedTable): SalvagedRows => {
    const shape = tableShapes.find(({ table }) => table === name);
    if (shape === undefined) throw new TypeError(`no shape of ${name}`);
    return salvageTable(shape, found, rules);
  };
  const events = take("events");
  return {
    kv: take("kv"),
    transcript_entries: fillFromEvents(take("transcript_entries"), events),
    prompts: take("prompts"),
    turns: take("turns"),
    turn_records: take("turn_records"),
    set_aside: take("set_aside"),
    events,
  };
}

function salvageTable(shape: TableShape, found: FoundRows, rules: SalvageRules): SalvagedRows {
  const tree = found.tables.get(shape.table);
  const { rows: cells, lostPages, badCells } = tree ?? nothing;
  const rows = new Map<string, Row>();
  const damaged: string[] = [];
  let unsummed = 0;
  for (const cell of cells) {
    const row = rowOf(shape, cell);
    const soundness = row === undefined ? "bad" : rules.believesAll === true ? "sound" : shape.judge(row);
    if (row === undefined || soundness === "bad") {
      damaged.push(row === undefined ? "" : shape.keyOf(row));
      continue;
    }
    if (soundness === "unsummed") unsummed += 1;
    rows.set(shape.keyOf(row), row);
  }
  const isComplete = tree !== undefined && lostPages.length === 0;
  if (!isComplete) addStrays(shape, found, rows, rules);
  const isWhole = isComplete && badCells === 0 && damaged.length === 0;
  for (let count = 0; count < badCells; count += 1) damaged.push("");
  return { rows, isWhole, damaged, unsummed, lostPages: lostPages.length + (tree === undefined ? 1 : 0) };
}

function addStrays(shape: TableShape, found: FoundRows, rows: Map<string, Row>, rules: SalvageRules): void {
  const inTree = new Set(rows.keys());
  for (const cell of found.strays) {
    const row = rowOf(shape, cell);
    if (row === undefined) continue;
    // Without a sum, what a row says is too little to tell whose it is.
    if (rules.believesAll !== true && (shape.judge(row) === "bad" || row.sum === null)) continue;
    if (rules.believesAll === true && shape.judge(row) === "bad") continue;
    const isTaken = !cell.isDoubtful || isFinal(shape.table, row) || rules.believesAll === true;
    const key = shape.keyOf(row);
    const before = rows.get(key);
    if (!isTaken || inTree.has(key)) continue;
    if (before === undefined || supersedes(row, before)) rows.set(key, row);
  }
}

/** Whether no later version of the row can have been there. */
function isFinal(table: SalvagedTable, row: Row): boolean {
  switch (table) {
    case "turn_records":
    case "events":
      return true;
    case "prompts":
      return row.turn_id !== null;
    case "turns":
      return row.state === "settled";
    case "kv":
    case "transcript_entries":
    case "set_aside":
      return false;
  }
}

function supersedes(row: Row, before: Row): boolean {
  if (row.turn_sum !== undefined) return row.turn_id !== null;
  if (row.end_sum !== undefined) return row.state === "settled";
  return Number(row.rev ?? 0) > Number(before.rev ?? 0);
}

function fillFromEvents(entries: SalvagedRows, events: SalvagedRows): SalvagedRows {
  if (entries.isWhole || !events.isWhole) return entries;
  const rows = new Map(entries.rows);
  const inOrder = [...events.rows.values()].sort((a, b) => Number(a.seq) - Number(b.seq));
  for (const event of inOrder) {
    const row = event.channel === "transcript" && isText(event.payload) ? entryOf(event.payload) : undefined;
    if (row !== undefined && !entries.rows.has(String(row.id))) rows.set(String(row.id), row);
  }
  return { ...entries, rows };
}

function entryOf(payload: string): Row | undefined {
  // An event whose entry lies in a blob has only a part of it here.
  const body = payload.startsWith("@") ? undefined : restOf(payload);
  if (!isRecord(body) || !isRecord(body.entry)) return undefined;
  const { id, seq } = body.entry;
  if (typeof id !== "string" || typeof seq !== "number") return undefined;
  const entry = JSON.stringify(body.entry);
  return { seq, id, entry, rev: 0, sum: rowSum([seq, id], entry) };
}
