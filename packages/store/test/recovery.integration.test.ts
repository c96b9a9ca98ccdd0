/** The repair of a damaged store: what comes back, what doesn't, what is said, and what a crash in it leaves. */
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { AgentStore } from "@sand/agent-core";
import { type AgentId, brandId } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStoreRepairs, type RecoveryReport } from "../src/index.ts";
import { recoverAgentStore } from "../src/recovery/recover-agent-store.ts";
import { createStoreRig, message, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

const agentId = brandId<AgentId>("ada");
const pageBytes = 4_096;
const provenance = { origin: "user", trust: "trusted", lineage: [] } as const;
let rig: StoreRig;
beforeEach(() => {
  rig = createStoreRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

const storePath = () => join(rig.agentFolder("ada"), "store.db");
const recover = (more: Partial<Parameters<typeof recoverAgentStore>[0]> = {}): RecoveryReport =>
  recoverAgentStore({ path: storePath(), agentId, nowMs: 77, reason: "test", seqAtLeast: 0, ...more });

/** Ten closed turns, one open one, and entries that were replaced. */
async function fill(store: AgentStore): Promise<void> {
  for (let at = 1; at <= 11; at += 1) {
    await store.transact((tx) => {
      const turn = turnRow(at);
      tx.setValue("generation", at);
      tx.insertPrompt(promptRow(`n${at}`));
      tx.insertTurn(turn);
      tx.appendRecord(turn, {
        kind: "turnStarted",
        turnId: turn.turnId,
        generation: at,
        atMs: 5,
        provenance,
      });
      tx.appendRecord(turn, { kind: "boxReady", atMs: 6 });
      tx.deliverPrompt(promptRow(`n${at}`).promptId, turn.turnId);
      for (let entry = 0; entry < 12; entry += 1) tx.appendEntry(message(`e${at}-${entry}`, "x".repeat(400)));
      if (at === 11) return;
      tx.updateEntry(message(`e${at}-0`, "changed"));
      tx.appendRecord(turn, { kind: "turnSettled", outcome: "success", code: null, reason: null, atMs: 9 });
      tx.settleTurn(turn, "success", 9);
    });
  }
}

async function makeStore(): Promise<void> {
  const store = rig.open("ada");
  await fill(store);
  await store.close();
}

function change(at: number, bytes: Uint8Array): void {
  const file = openSync(storePath(), "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

const zeroPage = (page: number) => change((page - 1) * pageBytes, Buffer.alloc(pageBytes));

/** the page that the row with this text lies on */
function pageOf(text: string): number {
  return Math.floor(readFileSync(storePath()).indexOf(text) / pageBytes) + 1;
}

function rootOf(table: string): number {
  const reader = new SqliteDatabase(storePath(), { readonly: true });
  const page = reader.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table);
  reader.close();
  return Number(page);
}

function idsOf(store: AgentStore): readonly string[] {
  return store.read.entriesBefore({ limit: 5_000 }).entries.map(({ entry }) => entry.id);
}

/** without the events, which know the newest entries as well */
function forgetEvents(): void {
  const writer = new SqliteDatabase(storePath());
  writer.exec("DELETE FROM events; VACUUM");
  writer.close();
}

test("rows on other pages than the damaged one come back, and the lost ones are named", async () => {
  await makeStore();
  forgetEvents();
  const before = rig.open("ada");
  const ids = idsOf(before);
  await before.close();
  zeroPage(pageOf('"id":"e5-5"'));
  const report = recover();
  const after = rig.open("ada");
  const kept = idsOf(after);
  const lost = ids.filter((id) => !kept.includes(id));
  expect(lost).toContain("e5-5");
  expect(lost.length).toBeLessThan(12);
  expect(report).toMatchObject({ lostEntryCount: lost.length, mayHaveLostMore: false, settledTurns: [] });
  expect([...report.lostEntries].sort()).toEqual([...lost].sort());
  expect(after.read.openTurn()?.turnId).toBe("turn-11");
});

test("the damaged files are kept whole under their hashes, with the report beside them", async () => {
  await makeStore();
  zeroPage(1);
  const bytes = readFileSync(storePath());
  const report = recover();
  const folder = join(rig.agentFolder("ada"), report.quarantine);
  expect(readFileSync(join(folder, "store.db")).equals(bytes)).toBe(true);
  expect(report.hashes["store.db"]).toBe(createHash("sha256").update(bytes).digest("hex"));
  expect(JSON.parse(readFileSync(join(folder, "report.json"), "utf8"))).toEqual(report);
});

test("with the first page and the roots gone, no row comes back in a state that was replaced", async () => {
  await makeStore();
  const expected = rig.open("ada");
  const turns = expected.read.settledTurns({ limit: 50 });
  await expected.close();
  const roots = ["transcript_entries", "turns", "prompts"].map(rootOf);
  for (const page of [1, ...roots]) zeroPage(page);
  recover();
  const after = rig.open("ada");
  const changed = after.read.findEntry(brandId("e3-0"))?.entry;
  expect(changed === undefined || JSON.stringify(changed).includes("changed")).toBe(true);
  for (const turn of after.read.settledTurns({ limit: 50 })) {
    if (turn.generation < 11) expect(turns).toContainEqual(turn);
  }
});

test("an open turn that has lost a record is ended and says so, and what can't be placed is set aside", async () => {
  await makeStore();
  forgetEvents();
  const writer = new SqliteDatabase(storePath());
  writer
    .prepare(
      "UPDATE turn_records SET body = replace(body, '6', '8') WHERE turn_id = 'turn-11' AND ordinal = 1",
    )
    .run();
  writer.prepare("UPDATE turn_records SET sum = 1 WHERE turn_id = 'turn-11' AND ordinal = 1").run();
  writer.close();
  const report = recover();
  expect(report.settledTurns).toEqual(["turn-11"]);
  const after = rig.open("ada");
  expect(after.read.openTurn()).toBeUndefined();
  expect(after.read.settledTurns({ limit: 1 })[0]).toMatchObject({ turnId: "turn-11", outcome: "error" });
  expect(report.tables.set_aside.kept).toBe(1);
  // The next turn's generation is above all that ever was.
  await after.transact((tx) => tx.insertTurn(turnRow(12)));
});

test("a crash at any step of a repair leaves something that the next opening, or the next repair, makes whole", async () => {
  for (const stop of ["built", "ready", "moved"]) {
    const other = createStoreRig();
    const path = join(other.agentFolder("ada"), "store.db");
    const store = other.open("ada");
    await fill(store);
    const ids = idsOf(store);
    await store.close();
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(pageBytes), 0, pageBytes, 0);
    closeSync(file);
    const crash = (step: string): void => {
      if (step === stop) throw new Error("crash");
    };
    const options = { path, agentId, nowMs: 77, reason: "test", seqAtLeast: 0 };
    expect(() => recoverAgentStore({ ...options, onStep: crash })).toThrow("crash");
    if (stop !== "moved") recoverAgentStore({ ...options, nowMs: 78 });
    expect(idsOf(other.open("ada", { create: false }))).toEqual(ids);
    expect(readdirSync(other.agentFolder("ada")).filter((name) => name.includes("repaired"))).toEqual([]);
    await other[Symbol.asyncDispose]();
  }
});

test("damage that a read finds is repaired behind its back: callers come again and find what is right", async () => {
  await makeStore();
  const reports: RecoveryReport[] = [];
  const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>();
  const repairs = createStoreRepairs({
    async run({ reason }) {
      await mayBegin;
      return recover({ reason });
    },
    logger: rig.logger,
    onRepaired: (_agentId, report) => void reports.push(report),
    onFailed() {},
  });
  const bytes = readFileSync(storePath());
  const at = bytes.indexOf("xxxx", bytes.indexOf('"id":"e5-5"'));
  change(at, Buffer.from("y"));
  const store = rig.open("ada", { repairs });
  expect(() => store.read.findEntry(brandId("e5-5"))).toThrow(
    expect.objectContaining({ code: "store/unavailable" }),
  );
  await expect(store.transact((tx) => tx.setValue("key", 1))).rejects.toMatchObject({
    code: "store/unavailable",
  });
  begin();
  await repairs.settled();
  await store.close();
  const after = rig.open("ada", { repairs });
  // The newest events still say what the entry was.
  expect(JSON.stringify(after.read.findEntry(brandId("e5-5"))?.entry)).not.toContain("y");
  expect(reports).toHaveLength(1);
  expect(rig.logged.join("")).toContain("store.repaired");
});

test("damage in the middle of a log that was left over isn't taken for its end", async () => {
  const store = rig.open("ada");
  await fill(store);
  const copy = createStoreRig();
  copy.agentFolder("ada");
  const target = join(copy.root, "store.db");
  for (const part of ["", "-wal"]) copyFileSync(storePath() + part, target + part);
  const wal = readFileSync(`${target}-wal`);
  const middle = 32 + Math.floor(((wal.length - 32) / (pageBytes + 24)) * 0.5) * (pageBytes + 24) + 500;
  const file = openSync(`${target}-wal`, "r+");
  writeSync(file, Buffer.from([(wal[middle] ?? 0) ^ 1]), 0, 1, middle);
  closeSync(file);
  const options = { path: target, agentId, nowMs: 77, reason: "test", seqAtLeast: 0 };
  recoverAgentStore(options);
  const reader = new SqliteDatabase(target, { readonly: true });
  // SQLite alone would go back to the commit before the damage.
  expect(reader.prepare("SELECT max(generation) FROM turns").pluck().get()).toBe(11);
  reader.close();
  await copy[Symbol.asyncDispose]();
});

test("a log that ends in the middle of a write is no damage", async () => {
  const store = rig.open("ada");
  await fill(store);
  const folder = rig.agentFolder("bob");
  await rig.open("bob").close();
  for (const part of ["", "-wal"]) copyFileSync(storePath() + part, join(folder, `store.db${part}`));
  const path = join(folder, "store.db-wal");
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(300, 1), 0, 300, statSync(path).size - 2_000);
  closeSync(file);
  expect(existsSync(path)).toBe(true);
  // Refused as another's, and not as damaged: the log was read.
  expect(() => rig.open("bob")).toThrow(expect.objectContaining({ details: { owner: "ada" } }));
});
