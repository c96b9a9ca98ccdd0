/**
 * One run: a sound data root is copied, damaged, and taken up as a host does; then everything that the stores show is
 * compared with what was written, and what they kept with what lay outside of the damage.
 */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AgentReads, AgentStore } from "@sand/agent-core";
import { createLogger, systemClock } from "@sand/node-kit";
import { type AgentId, BoxError, brandId, type ClientNonce, type EntryId, type TurnId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { acquireHostLock, openAgentStore, openHostIndex, type RecoveryReport } from "../../src/index.ts";
import { recoverAgentStore } from "../../src/recovery/recover-agent-store.ts";
import type { SalvageRules } from "../../src/recovery/salvage-rows.ts";
import { createStoreRepairs } from "../../src/recovery/store-repairs.ts";
import { type Inflicted, type Kind, kinds } from "./inflict.ts";
import { type AgentName, agents, entryShown, type SoundRoot, type Told, turnShown } from "./sound-root.ts";

export interface RunResult {
  readonly kind: Kind;
  readonly findings: readonly string[];
  /** rows that lie on no damaged page, and how many of them are there in the end */
  readonly intact: number;
  readonly kept: number;
  readonly repaired: number;
  readonly refused: number;
  readonly behind: number;
}

export interface RunOptions {
  readonly sound: SoundRoot;
  readonly kind: Kind;
  readonly folder: string;
  readonly random: (below: number) => number;
  readonly rules?: SalvageRules;
}

interface Seen {
  readonly findings: string[];
  readonly reports: Map<string, RecoveryReport>;
  readonly refused: Set<string>;
  readonly behind: Set<string>;
}

const logger = createLogger({ name: "corruption", level: "fatal", write: () => {} });
/** how often a store is taken up again after it was found damaged */
const triesMax = 8;

export async function runDamaged(options: RunOptions): Promise<RunResult> {
  const { sound, kind, folder, random } = options;
  const from = kinds[kind].killed ? "killed" : "closed";
  const root = join(folder, "run");
  rmSync(root, { recursive: true, force: true });
  cpSync(sound[from], root, { recursive: true, preserveTimestamps: true });
  const inflicted = kinds[kind].inflict({ root, store: join(root, "agents", "ada", "store.db"), random });
  const seen: Seen = { findings: [], reports: new Map(), refused: new Set(), behind: new Set() };
  try {
    await takeUp(options, root, seen);
  } catch (error) {
    seen.findings.push(
      `the host doesn't start: ${String(error)} ${String(error instanceof Error ? error.cause : "")}`,
    );
  }
  const counts = agents.map((agent) => countKept(options, { root, agent, from, inflicted, seen }));
  rmSync(root, { recursive: true, force: true });
  return {
    kind,
    findings: seen.findings.map((finding) => `${kind}: ${finding}`),
    intact: counts.reduce((sum, { intact }) => sum + intact, 0),
    kept: counts.reduce((sum, { kept }) => sum + kept, 0),
    repaired: seen.reports.size,
    refused: seen.refused.size,
    behind: seen.behind.size,
  };
}

async function takeUp({ sound, kind, rules }: RunOptions, root: string, seen: Seen): Promise<void> {
  using _lock = acquireHostLock({ root, pid: process.pid });
  await using index = openHostIndex({ root, onCommitted() {}, clock: systemClock, logger });
  await index.catchUp();
  const repairs = createStoreRepairs({
    run: async (request) =>
      recoverAgentStore({
        ...request,
        ...{ nowMs: Date.now(), seqAtLeast: index.lastSeq() },
        ...(rules === undefined ? {} : { rules }),
      }),
    logger,
    onRepaired: (agentId, report) => void seen.reports.set(agentId, report),
    onFailed() {},
  });
  const from = kinds[kind].killed ? "killed" : "closed";
  for (const agent of agents) {
    const agentId = brandId<AgentId>(agent);
    const known = index.agents().find((row) => row.agentId === agentId)?.lastSeq ?? 0;
    const open = (): AgentStore =>
      openAgentStore({
        ...{ directory: join(root, "agents", agent), agentId, seq: index.seq, logger, create: false },
        ...{ repairs, knownSeq: known, onCommitted() {}, onBehind: () => void seen.behind.add(agent) },
      });
    const shown = await readWhenSound(open, () => repairs.settled(), sound.told(from, agent));
    if (shown === undefined) seen.refused.add(agent);
    else judge({ sound, kind, agent, from, shown, seen });
  }
}

/** What a store shows, by the keys of what was written; `undefined` when it is refused for good. */
async function readWhenSound(
  open: () => AgentStore,
  settled: () => Promise<void>,
  told: Told,
): Promise<Shown | undefined> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    let store: AgentStore | undefined;
    try {
      store = open();
      const shown = readAll(store, told);
      // The repaired agent goes on.
      await store.transact((tx) => tx.setValue("goes-on", tries));
      return shown;
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      await settled();
    } finally {
      await store?.close();
    }
  }
  return undefined;
}

interface Shown {
  /** table → key → what the store says, in the form of `told` but for what only the file has */
  readonly rows: ReadonlyMap<string, Rows>;
}

type Rows = ReadonlyMap<string, object>;

function readAll({ read }: AgentStore, told: Told): Shown {
  return {
    rows: new Map([
      ["transcript_entries", readEntries(read, told)],
      ["prompts", readPrompts(read, told)],
      ["turns", readTurns(read)],
      ["turn_records", readRecords(read, told)],
      ["kv", readValues(read, told)],
    ]),
  };
}

function keysOf(told: Told, table: string): readonly string[] {
  return [...(told.get(table)?.keys() ?? [])];
}

/** By pages and each by its id: they go by different trees. */
function readEntries(read: AgentReads, told: Told): Rows {
  const entries = new Map<string, object>();
  for (let beforeSeq: number | undefined; ; ) {
    const page = read.entriesBefore({ limit: 500, ...(beforeSeq === undefined ? {} : { beforeSeq }) });
    for (const found of page.entries) entries.set(found.entry.id, entryShown(found));
    beforeSeq = page.entries[0]?.seq;
    if (!page.more || beforeSeq === undefined) break;
  }
  for (const id of keysOf(told, "transcript_entries")) {
    const found = read.findEntry(brandId<EntryId>(id));
    if (found !== undefined) entries.set(id, entryShown(found));
  }
  return entries;
}

function readPrompts(read: AgentReads, told: Told): Rows {
  const prompts = new Map<string, object>();
  for (const key of keysOf(told, "prompts")) {
    const { nonce } = rowIn(told, "prompts", key);
    const found = read.findPrompt(brandId<ClientNonce>(String(nonce)));
    if (found === undefined) continue;
    const { promptId, digest, entryId, acceptedAtMs, turnId, text } = found;
    const row = { digest, entry_id: entryId, accepted_at_ms: acceptedAtMs, turn_id: turnId, text };
    prompts.set(promptId, row);
  }
  return prompts;
}

function readTurns(read: AgentReads): Rows {
  const open = read.openTurn();
  const all = [...read.settledTurns({ limit: 5_000 }), ...(open === undefined ? [] : [open])];
  return new Map(all.map((row) => [row.turnId, turnShown(row)]));
}

function readRecords(read: AgentReads, told: Told): Rows {
  const records = new Map<string, object>();
  for (const turnId of keysOf(told, "turns")) {
    for (const [at, record] of read.records(brandId<TurnId>(turnId)).entries()) {
      records.set(`${turnId} ${at + 1}`, { body: JSON.stringify(record) });
    }
  }
  return records;
}

function readValues(read: AgentReads, told: Told): Rows {
  const values = new Map<string, object>();
  for (const key of keysOf(told, "kv")) {
    const value = read.getValue(key);
    if (value !== undefined) values.set(key, { value: JSON.stringify(value) });
  }
  return values;
}

interface Judgement {
  readonly sound: SoundRoot;
  readonly kind: Kind;
  readonly agent: AgentName;
  readonly from: "closed" | "killed";
  readonly shown: Shown;
  readonly seen: Seen;
}

function judge({ sound, agent, from, shown, seen }: Judgement): void {
  const told = sound.told(from, agent);
  const report = seen.reports.get(agent);
  // What a lost log leaves is an earlier state: told as such, and right as of then.
  const earlier = seen.behind.has(agent) ? sound.versions(agent) : undefined;
  let missing = 0;
  for (const [table, rows] of shown.rows) {
    const isRight = (key: string, row: object): boolean =>
      isOneOf(told, table, key, row) ||
      earlier?.get(`${table} ${key}`)?.has(JSON.stringify(row)) === true ||
      isMended(table, key, row, report);
    for (const [key, row] of rows) {
      if (isRight(key, row)) continue;
      seen.findings.push(`${agent} shows ${table} ${key} as ${JSON.stringify(row).slice(0, 200)}`);
    }
    missing += keysOf(told, table).filter((key) => !rows.has(key)).length;
  }
  const isTold = report !== undefined || seen.behind.has(agent);
  if (missing > 0 && !isTold) seen.findings.push(`${agent} lacks ${missing} rows, and nothing says so`);
}

function isOneOf(told: Told, table: string, key: string, row: object): boolean {
  if (told.get(table)?.has(key) !== true) return false;
  const written = rowIn(told, table, key);
  return Object.entries(row).every(([column, value]) =>
    column === "text" ? String(written.body).includes(JSON.stringify(value)) : written[column] === value,
  );
}

/** What a repair changes, it names. */
function isMended(table: string, key: string, row: object, report: RecoveryReport | undefined): boolean {
  if (report === undefined) return false;
  if (table === "turns") return report.settledTurns.includes(key);
  const isEnd = table === "turn_records" && "body" in row && String(row.body).includes('"store/damaged"');
  return isEnd && report.settledTurns.includes(key.slice(0, key.lastIndexOf(" ")));
}

function rowIn(told: Told, table: string, key: string): Readonly<Record<string, unknown>> {
  return JSON.parse(told.get(table)?.get(key) ?? "{}") as Readonly<Record<string, unknown>>;
}

interface Kept {
  readonly root: string;
  readonly agent: AgentName;
  readonly from: "closed" | "killed";
  readonly inflicted: Inflicted;
  readonly seen: Seen;
}

/** Of a store that was repaired: which of the rows outside of the damage are in the new file. */
function countKept(
  { sound }: RunOptions,
  { root, agent, from, inflicted, seen }: Kept,
): { intact: number; kept: number } {
  const path = join(root, "agents", agent, "store.db");
  if (!seen.reports.has(agent) || seen.refused.has(agent) || !existsSync(path)) return { intact: 0, kept: 0 };
  const database = new SqliteDatabase(path, { readonly: true });
  let intact = 0;
  let kept = 0;
  try {
    const has = {
      kv: database.prepare("SELECT 1 FROM kv WHERE key = ?"),
      transcript_entries: database.prepare("SELECT 1 FROM transcript_entries WHERE id = ?"),
      prompts: database.prepare("SELECT 1 FROM prompts WHERE prompt_id = ?"),
      turns: database.prepare("SELECT 1 FROM turns WHERE turn_id = ?"),
      turn_records: database.prepare(
        `SELECT 1 FROM (SELECT turn_id || ' ' || ordinal AS key FROM turn_records
         UNION ALL SELECT turn_id || ' ' || ordinal FROM set_aside) WHERE key = ?`,
      ),
    };
    for (const [place, pages] of sound.pagesOf(from, agent)) {
      const table = place.slice(0, place.indexOf(" "));
      const key = place.slice(place.indexOf(" ") + 1);
      const find = Object.entries(has).find(([name]) => name === table)?.[1];
      const isHit = [...pages].some((page) => inflicted.pages.has(page) || page >= inflicted.cutFrom);
      if (find === undefined || isHit) continue;
      intact += 1;
      if (find.get(key) !== undefined) kept += 1;
    }
  } finally {
    database.close();
  }
  return { intact, kept };
}
