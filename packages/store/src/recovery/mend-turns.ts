/**
 * Makes of salvaged rows what the rest of the program may rely on, without guessing (INV-7).
 *
 * 1. A turn's records count up to the first one that is missing or contradicts those before it; what comes later is set
 *    aside: kept in the store, shown to nobody.
 * 2. An open turn goes on only when everything that it stands on is known to be here. Otherwise it is settled, and says
 *    why: an effect whose record is lost may have been done already.
 * 3. A turn whose own row is lost is made again from its records, which say the same.
 * 4. A prompt that a record says was delivered isn't delivered again.
 */
import { reduceTurn, type TurnRecord, type TurnView } from "@sand/agent-core";
import type { Salvaged, SalvagedRows } from "./salvage-rows.ts";
import { isNumber, isRecord, isText, type Row, restOf } from "./table-shapes.ts";

export interface MendedTurns {
  readonly turns: readonly Row[];
  readonly records: readonly Row[];
  readonly setAside: readonly Row[];
  readonly prompts: readonly Row[];
  /** turns that were open and were settled here */
  readonly settled: readonly string[];
}

export interface MendOptions {
  readonly nowMs: number;
  /** ids of entries that are known to be lost; `undefined` when not all of them are known */
  readonly lostEntries: ReadonlySet<string> | undefined;
}

export function mendTurns(salvaged: Salvaged, options: MendOptions): MendedTurns {
  const { turns: turnRows, turn_records: recordRows, set_aside: asideRows, prompts } = salvaged;
  const byTurn = recordsByTurn(recordRows);
  const turns = new Map<string, Row>();
  const records: Row[] = [];
  const setAside: Row[] = [...asideRows.rows.values()];
  const settled: string[] = [];
  for (const row of turnRows.rows.values()) turns.set(String(row.turn_id), row);
  const newestOpen = newestOf([...turns.values()].filter((row) => row.state === "open"));
  for (const turnId of new Set([...turns.keys(), ...byTurn.keys()])) {
    const all = byTurn.get(turnId) ?? [];
    const whole = wholePart(all);
    const row = turns.get(turnId) ?? turnOf(whole);
    if (row === undefined) {
      setAside.push(...all);
      continue;
    }
    const isKnown = recordRows.isWhole && whole.length === all.length && turnRows.isWhole;
    const mayGoOn = row === newestOpen && isKnown && standsOnAll(all, options);
    const mended = row.state === "open" && !mayGoOn ? settle(row, whole, options.nowMs) : { row, added: [] };
    if (mended.row !== row) settled.push(turnId);
    turns.set(turnId, mended.row);
    records.push(...whole, ...mended.added);
    const taken = new Set(mended.added.map(({ ordinal }) => ordinal));
    // The turn's end has taken the number of a record that nobody can place any more: that one moves behind it.
    setAside.push(
      ...all.slice(whole.length).map((late) => (taken.has(late.ordinal ?? null) ? shifted(late, all) : late)),
    );
  }
  return {
    turns: [...turns.values()],
    records,
    setAside,
    prompts: deliveredPrompts(prompts, records),
    settled,
  };
}

function recordsByTurn({ rows }: SalvagedRows): Map<string, Row[]> {
  const byTurn = new Map<string, Row[]>();
  for (const row of rows.values()) {
    const turnId = String(row.turn_id);
    const list = byTurn.get(turnId);
    if (list === undefined) byTurn.set(turnId, [row]);
    else list.push(row);
  }
  for (const list of byTurn.values()) list.sort((a, b) => Number(a.ordinal) - Number(b.ordinal));
  return byTurn;
}

/** From the first record on, as far as none is missing and none contradicts. */
function wholePart(records: readonly Row[]): readonly Row[] {
  let view: TurnView | undefined;
  for (const [index, row] of records.entries()) {
    if (row.ordinal !== index + 1) return records.slice(0, index);
    const record = recordOf(row);
    if (record === undefined) return records.slice(0, index);
    try {
      view = reduceTurn(view, record);
    } catch {
      // It contradicts those before it: something between them is lost.
      return records.slice(0, index);
    }
  }
  return records;
}

/** Judged when it was salvaged: its kind is the row's, and it is what a program of ours wrote. */
function recordOf(row: Row): TurnRecord | undefined {
  const body = isText(row.body) ? restOf(row.body) : undefined;
  return isRecord(body) ? (body as TurnRecord) : undefined;
}

function turnOf(records: readonly Row[]): Row | undefined {
  const [first] = records;
  const started = first === undefined ? undefined : recordOf(first);
  if (started?.kind !== "turnStarted") return undefined;
  const last = recordOf(records.at(-1) ?? {});
  const end = last?.kind === "turnSettled" ? last : undefined;
  return {
    turn_id: started.turnId,
    generation: started.generation,
    state: end === undefined ? "open" : "settled",
    outcome: end?.outcome ?? null,
    started_at_ms: started.atMs,
    settled_at_ms: end?.atMs ?? null,
  };
}

function newestOf(rows: readonly Row[]): Row | undefined {
  return [...rows].sort((a, b) => Number(b.generation) - Number(a.generation))[0];
}

/** Whether no entry is lost that the turn would change when it goes on. */
function standsOnAll(records: readonly Row[], { lostEntries }: MendOptions): boolean {
  if (lostEntries === undefined) return false;
  if (lostEntries.size === 0) return true;
  const text = records.map((row) => (isText(row.body) ? row.body : "")).join("\n");
  return ![...lostEntries].some((id) => text.includes(JSON.stringify(id)));
}

function settle(row: Row, records: readonly Row[], nowMs: number): { row: Row; added: readonly Row[] } {
  const last = records.at(-1);
  const ended = last === undefined ? undefined : recordOf(last);
  if (ended?.kind === "turnSettled") return { row: settledRow(row, ended.outcome, ended.atMs), added: [] };
  const end: TurnRecord = {
    kind: "turnSettled",
    outcome: "error",
    code: "store/damaged",
    reason: "The store was damaged and repaired. What this turn did last may be lost.",
    atMs: nowMs,
  };
  const ordinal = records.length + 1;
  const added: Row = {
    turn_id: row.turn_id ?? null,
    ordinal,
    kind: end.kind,
    call_id: null,
    body: JSON.stringify(end),
  };
  return { row: settledRow(row, "error", nowMs), added: records.length === 0 ? [] : [added] };
}

function settledRow(row: Row, outcome: string, atMs: number): Row {
  return { ...row, state: "settled", outcome, settled_at_ms: atMs };
}

/** records that are set aside keep their order, behind all that the turn has */
function shifted(row: Row, all: readonly Row[]): Row {
  const highest = Number(all.at(-1)?.ordinal ?? 0);
  return { ...row, ordinal: highest + 1 };
}

function deliveredPrompts(prompts: SalvagedRows, records: readonly Row[]): readonly Row[] {
  const deliveredIn = new Map<string, string>();
  for (const row of records) {
    const record = row.kind === "promptDelivered" ? recordOf(row) : undefined;
    if (record?.kind === "promptDelivered") deliveredIn.set(record.prompt.promptId, String(row.turn_id));
  }
  return [...prompts.rows.values()].map((row) => {
    const turnId = deliveredIn.get(String(row.prompt_id));
    return row.turn_id === null && turnId !== undefined ? { ...row, turn_id: turnId } : row;
  });
}

/** The highest generation that any row speaks of: the next turn must be above it. */
export function highestGeneration(turns: readonly Row[]): number {
  return turns.reduce(
    (highest, { generation }) => Math.max(highest, isNumber(generation) ? generation : 0),
    0,
  );
}
