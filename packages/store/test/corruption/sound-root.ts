/**
 * The data root that is damaged, as an orderly end leaves it and as a kill does, and what it says: agents with long
 * conversations, rows that were replaced, events that were trimmed, so that pages of old rows lie about.
 */
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AgentStore, AgentTx, StoredEntry, TurnRecord, TurnRow } from "@sand/agent-core";
import { createLogger, systemClock } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { openAgentStore, openHostIndex } from "../../src/index.ts";
import { findRows } from "../../src/recovery/find-rows.ts";
import { openPageImage } from "../../src/recovery/page-image.ts";
import { readSchema } from "../../src/recovery/read-schema.ts";
import { rowOf, tableShapes } from "../../src/recovery/table-shapes.ts";
import { message, promptRow, turnRow } from "../store-rig.ts";

export const agents = ["ada", "bob"] as const;
export type AgentName = (typeof agents)[number];

/** table → key → the row as text */
export type Told = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface SoundRoot {
  /** closed in order */
  readonly closed: string;
  /** copied while it was open, with its logs */
  readonly killed: string;
  /** what each agent's store says, by the root it lies in */
  told(root: "closed" | "killed", agent: AgentName): Told;
  /** each state that a row was ever committed in: table and key → its columns as text */
  versions(agent: AgentName): Versions;
  /** table and key → the pages that the row lies on */
  pagesOf(root: "closed" | "killed", agent: AgentName): ReadonlyMap<string, ReadonlySet<number>>;
}

export type Versions = ReadonlyMap<string, ReadonlySet<string>>;

export interface RootSize {
  readonly turns: number;
  /** events that are trimmed later */
  readonly noise: number;
}

const logger = createLogger({ name: "corruption", level: "fatal", write: () => {} });

export async function makeSoundRoot(folder: string, size: RootSize): Promise<SoundRoot> {
  const [live, killed] = [join(folder, "closed"), join(folder, "killed")];
  mkdirSync(live, { recursive: true });
  const index = openHostIndex({ root: live, onCommitted() {}, clock: systemClock, logger });
  const stores: AgentStore[] = [];
  const versions = new Map<AgentName, Map<string, Set<string>>>();
  for (const agent of agents) {
    const agentId = brandId<AgentId>(agent);
    const directory = join(live, "agents", agent);
    const store = openAgentStore({
      ...{ directory, agentId, seq: index.seq, logger },
      onCommitted: (events) => index.noteLastSeq(agentId, events.at(-1)?.seq ?? 0),
    });
    stores.push(store);
    const states = new Map<string, Set<string>>();
    versions.set(agent, states);
    await fill(store, agent, size, states);
    const summary = { name: agent, talks: true };
    await store.transact((tx) => {
      tx.setValue("summary", summary);
      tx.emit("test", {});
    });
    index.putAgent({ agentId, summary, lastSeq: store.read.lastSeq(), hasOpenTurn: true });
  }
  // The index writes its rows some time later; a number that is reserved is written at once, after them.
  await index.commitHostEvent("test", {});
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  cpSync(live, killed, { recursive: true, preserveTimestamps: true });
  for (const store of stores) await store.close();
  await index.close();
  const rootOf = { closed: live, killed };
  const path = (root: "closed" | "killed", agent: AgentName) =>
    join(rootOf[root], "agents", agent, "store.db");
  return {
    closed: live,
    killed,
    told: (root, agent) => tell(path(root, agent), folder),
    versions: (agent) => versions.get(agent) ?? new Map(),
    pagesOf: (root, agent) => placeRows(path(root, agent)),
  };
}

async function fill(
  store: AgentStore,
  agent: string,
  { turns, noise }: RootSize,
  states: Map<string, Set<string>>,
): Promise<void> {
  for (let at = 1; at <= turns; at += 1) {
    await store.transact((tx) => beginTurn(tx, agent, at));
    noteStates(store, agent, at, states);
    if (at < turns) await store.transact((tx) => endTurn(tx, agent, at));
    noteStates(store, agent, at, states);
    if (at === Math.floor(turns / 2)) {
      for (let from = 0; from < noise; from += 200) {
        await store.transact((tx) => {
          for (let number = 0; number < 200; number += 1)
            tx.emit("noise", { text: `${from + number} `.repeat(40) });
        });
      }
    }
  }
  await store.transact((tx) => {
    tx.insertPrompt(promptRow(`${agent}-waits`, { text: "later" }));
    // As in a host: no change goes without an event, so the roster's row knows how far a store had come.
    tx.emit("test", {});
  });
}

/** What a commit of the turn `at` can have changed of rows that change. */
function noteStates({ read }: AgentStore, agent: string, at: number, states: Map<string, Set<string>>): void {
  const note = (place: string, row: object): void => {
    const known = states.get(place) ?? new Set();
    states.set(place, known.add(JSON.stringify(row)));
  };
  for (const key of ["generation", `setting-${at % 7}`]) {
    const value = read.getValue(key);
    if (value !== undefined) note(`kv ${key}`, { value: JSON.stringify(value) });
  }
  const call = read.findEntry(brandId(`call-${agent}-${at}`));
  if (call !== undefined) note(`transcript_entries ${call.entry.id}`, entryShown(call));
  const turn = read.openTurn() ?? read.settledTurns({ limit: 1 })[0];
  if (turn !== undefined) note(`turns ${turn.turnId}`, turnShown(turn));
}

/** an entry in the columns that say it */
export function entryShown({ seq, entry }: StoredEntry): object {
  return { seq, entry: JSON.stringify(entry) };
}

/** a turn in the columns that say it */
export function turnShown(turn: TurnRow): object {
  const { generation, state, outcome, startedAtMs, settledAtMs } = turn;
  return { generation, state, outcome, started_at_ms: startedAtMs, settled_at_ms: settledAtMs };
}

const provenance = { origin: "user", trust: "trusted", lineage: [] } as const;

function beginTurn(tx: AgentTx, agent: string, at: number): void {
  const turn = turnRow(at, { turnId: brandId(`turn-${agent}-${at}`) });
  const { turnId, generation } = turn;
  const prompt = promptRow(`${agent}-${at}`, { text: `question ${at} of ${agent}` });
  tx.setValue("generation", at);
  tx.setValue(`setting-${at % 7}`, { at, agent, why: "w".repeat(at % 90) });
  tx.insertPrompt(prompt);
  tx.insertTurn(turn);
  tx.appendEntry(
    message(`entry-${agent}-${at}`, `question ${at} of ${agent} ${"q".repeat((at * 37) % 900)}`),
  );
  const fence = { turnId, generation };
  const { promptId, entryId, nonce, text } = prompt;
  const records: readonly TurnRecord[] = [
    { kind: "turnStarted", turnId, generation, atMs: turn.startedAtMs, provenance },
    {
      kind: "promptDelivered",
      prompt: { promptId, entryId, nonce, text, provenance },
      beforeStep: 1,
      atMs: 6,
    },
    { kind: "boxReady", atMs: 7 },
  ];
  for (const record of records) tx.appendRecord(fence, record);
  tx.deliverPrompt(promptId, turnId);
  tx.appendEntry(message(`call-${agent}-${at}`, "running"));
}

function endTurn(tx: AgentTx, agent: string, at: number): void {
  const fence = { turnId: turnRow(at, { turnId: brandId(`turn-${agent}-${at}`) }).turnId, generation: at };
  tx.updateEntry(
    message(`call-${agent}-${at}`, `done ${"r".repeat((at * 91) % (at % 20 === 0 ? 9_000 : 1_500))}`),
  );
  tx.appendRecord(fence, { kind: "turnSettled", outcome: "success", code: null, reason: null, atMs: 9 });
  tx.settleTurn(fence, "success", 9);
}

/** Reads a copy, since opening a store that was killed would change it. */
function tell(path: string, folder: string): Told {
  const copy = join(folder, "copy.db");
  for (const part of ["", "-wal"]) {
    if (existsSync(path + part)) copyFileSync(path + part, copy + part);
  }
  const database = new SqliteDatabase(copy);
  try {
    return new Map(
      tableShapes
        .filter(({ table }) => table !== "events" && table !== "set_aside")
        .map((shape) => {
          const rows = database
            .prepare<unknown[], Record<string, string | number | null>>(`SELECT * FROM ${shape.table}`)
            .all();
          return [shape.table, new Map(rows.map((row) => [shape.keyOf(row), JSON.stringify(row)]))];
        }),
    );
  } finally {
    database.close();
    for (const part of ["", "-wal", "-shm"]) rmSync(copy + part, { force: true });
  }
}

function placeRows(path: string): ReadonlyMap<string, ReadonlySet<number>> {
  using image = openPageImage(path);
  const places = new Map<string, ReadonlySet<number>>();
  const { tables } = findRows(image, readSchema(image));
  for (const shape of tableShapes) {
    for (const cell of tables.get(shape.table)?.rows ?? []) {
      const row = rowOf(shape, cell);
      if (row !== undefined) places.set(`${shape.table} ${shape.keyOf(row)}`, new Set(cell.pages));
    }
  }
  return places;
}
