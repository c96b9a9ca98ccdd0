/**
 * Makes a new store from an archive's rows, by the code that every store is written by. Each row is looked at first: an
 * archive comes from anywhere, and a turn whose records contradict each other is refused like a damaged one (INV-7).
 */
import {
  type AgentStore,
  type AgentTx,
  reduceTurn,
  type TurnRecord,
  type TurnRow,
  type TurnView,
} from "@sand/agent-core";
import {
  type AgentId,
  BoxError,
  brandId,
  type ClientNonce,
  InvariantError,
  type JsonValue,
} from "@sand/protocol";
import type { SeqAllocator } from "../seq-allocator.ts";
import { type ArchiveRow, importedKey, localKeys, type RanBy } from "./archive-content.ts";
import { archiveLimits } from "./archive-limits.ts";
import { damaged } from "./tar-member.ts";

const keyMaxChars = 256;
const generationKey = "generation";

/** Gives out the numbers that the archive's entries had. */
export interface ArchivedNumbers extends SeqAllocator {
  set(seq: number): void;
}

export function createArchivedNumbers(): ArchivedNumbers {
  let planned = 0;
  return {
    set(seq) {
      const rises = Number.isSafeInteger(seq) && seq > planned && seq <= archiveLimits.seqMax;
      if (!rises) throw damaged("its entries aren't in order");
      planned = seq;
    },
    next: () => planned,
    ensure: () => undefined,
    skipTo: () => undefined,
    last: () => planned,
  };
}

export interface RestoredCounts {
  readonly entries: number;
  readonly turns: number;
  readonly records: number;
}

export interface RestoreRows {
  /** one member; a transaction of its own */
  take(content: Buffer): Promise<void>;
  /** after the last one; `finish` is the last change */
  finish(ranBy: readonly RanBy[], finish: (tx: AgentTx) => void): Promise<RestoredCounts>;
}

interface OpenTurn {
  readonly row: TurnRow;
  view: TurnView | undefined;
}

interface State {
  open: OpenTurn | undefined;
  entries: number;
  turns: number;
  records: number;
  generation: number;
}

export function createRestoreRows(
  store: AgentStore,
  agentId: AgentId,
  numbers: ArchivedNumbers,
): RestoreRows {
  let state: State = { open: undefined, entries: 0, turns: 0, records: 0, generation: 0 };
  const add = createAdder(agentId, numbers);

  return {
    async take(content) {
      const rows = parseRows(content);
      // A change may run again, so it works on a copy that counts when it is committed.
      const { value } = await refuseBroken(() =>
        store.transact((tx) => {
          const next = { ...state };
          for (const row of rows) add(tx, next, row);
          return next;
        }),
      );
      state = value;
    },
    async finish(ranBy, finish) {
      await refuseBroken(() =>
        store.transact((tx) => {
          endTurn(tx, state);
          tx.setValue(
            importedKey,
            ranBy.map((one) => ({ ...one })),
          );
          const stored = tx.getValue(generationKey);
          if (state.generation > (typeof stored === "number" ? stored : 0))
            tx.setValue(generationKey, state.generation);
          finish(tx);
        }),
      );
      const { entries, turns, records } = state;
      return { entries, turns, records };
    },
  };
}

/** What the store itself refuses is a fault of the rows. */
async function refuseBroken<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (cause) {
    const isStores =
      cause instanceof InvariantError || (cause instanceof Error && cause.constructor.name === "SqliteError");
    if (isStores || (cause instanceof BoxError && /^(?:store\/damaged|turn\/)/u.test(cause.code)))
      throw new BoxError("archive/damaged", "the archive is damaged: its rows contradict each other", {
        cause,
        hint: "nothing was installed",
      });
    throw cause;
  }
}

type Add = (tx: AgentTx, state: State, row: ArchiveRow) => void;

function createAdder(agentId: AgentId, numbers: ArchivedNumbers): Add {
  return (tx, state, row) => {
    if ("record" in row) return addRecord(tx, state, row.record);
    endTurn(tx, state);
    if ("value" in row) return addValue(tx, row.value);
    if ("turn" in row) return beginTurn(tx, state, row.turn);
    if ("prompt" in row) {
      const { prompt } = row;
      if (prompt.turnId === null) throw damaged("a prompt waits in it");
      const nonce = brandId<ClientNonce>(`imported:${agentId}:${prompt.nonce}`);
      tx.insertPrompt({ ...prompt, nonce, turnId: null });
      return tx.deliverPrompt(prompt.promptId, prompt.turnId);
    }
    const { seq } = row.entry;
    if (typeof seq !== "number") throw damaged("an entry has no number");
    numbers.set(seq);
    state.entries += 1;
    tx.appendEntry(row.entry);
    return undefined;
  };
}

function addValue(tx: AgentTx, [key, value]: readonly [string, JsonValue]): void {
  if (key.length > keyMaxChars || localKeys.has(key)) throw damaged("it holds a value that isn't an agent's");
  tx.setValue(key, value);
}

function beginTurn(tx: AgentTx, state: State, row: TurnRow): void {
  tx.insertTurn({ ...row, state: "open", outcome: null, settledAtMs: null });
  state.open = { row, view: undefined };
  state.turns += 1;
  state.generation = row.generation;
}

function addRecord(tx: AgentTx, state: State, record: TurnRecord): void {
  const { open } = state;
  if (open === undefined) throw damaged("a record belongs to no turn");
  state.open = { row: open.row, view: reduceTurn(open.view, record) };
  state.records += 1;
  const { turnId, generation } = open.row;
  tx.appendRecord({ turnId, generation }, record);
}

function endTurn(tx: AgentTx, state: State): void {
  const { open } = state;
  if (open === undefined) return;
  const { turnId, generation, settledAtMs } = open.row;
  const { view } = open;
  if (
    view === undefined ||
    view.settled === null ||
    settledAtMs === null ||
    view.turnId !== turnId ||
    view.generation !== generation
  )
    throw damaged("a turn has no end");
  tx.settleTurn({ turnId, generation }, view.settled.outcome, settledAtMs);
  state.open = undefined;
}

function parseRows(content: Buffer): readonly ArchiveRow[] {
  const lines = content.toString("utf8").split("\n");
  if (lines.pop() !== "") throw damaged("its last row isn't whole");
  return lines.map(parseRow);
}

const texts = {
  prompt: ["promptId", "nonce", "digest", "entryId", "text", "whenBusy", "turnId"],
  turn: ["turnId"],
  record: ["kind"],
  entry: ["id", "kind"],
} as const;

function parseRow(line: string): ArchiveRow {
  let row: Readonly<Record<string, unknown>>;
  try {
    row = { ...(JSON.parse(line) as object) };
  } catch {
    throw damaged("a row can't be read");
  }
  const [kind = "", ...more] = Object.keys(row);
  const body = row[kind];
  const isWhole = more.length === 0 && (kind === "value" ? isValue(body) : isBody(kind, body));
  if (!isWhole) throw damaged("a row isn't one of ours");
  return row as ArchiveRow;
}

function isValue(body: unknown): boolean {
  return Array.isArray(body) && body.length === 2 && typeof body[0] === "string";
}

function isBody(kind: string, body: unknown): boolean {
  if (typeof body !== "object" || body === null || !isRowKind(kind)) return false;
  const fields: Readonly<Record<string, unknown>> = { ...body };
  return texts[kind].every((name) => typeof fields[name] === "string");
}

function isRowKind(kind: string): kind is keyof typeof texts {
  return Object.hasOwn(texts, kind);
}
