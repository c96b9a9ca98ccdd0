import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { AgentStore } from "@sand/agent-core";
import { systemClock } from "@sand/node-kit";
import { type AgentId, brandId, type ClientNonce } from "@sand/protocol";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenedHostIndex, openHostIndex } from "../src/index.ts";
import { openDatabase } from "../src/sqlite.ts";
import { createStoreRig, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

let rig: StoreRig;
let index: OpenedHostIndex;

beforeEach(() => {
  rig = createStoreRig();
  index = rig.openIndex();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

const ada = brandId<AgentId>("ada");
const nonce = (text: string): ClientNonce => brandId<ClientNonce>(text);

/** an agent as the host leaves it: with its summary, a prompt and an open turn */
async function createAgent(agentId: string): Promise<AgentStore> {
  const store = rig.open(agentId, { seq: index.seq });
  await store.transact((tx) => {
    tx.setValue("summary", { name: agentId });
    tx.setValue("creation", { nonce: `create-${agentId}`, digest: "digest" });
    tx.insertPrompt(promptRow(`nonce-${agentId}`));
    tx.insertTurn(turnRow(1));
    tx.emit("test", {});
  });
  return store;
}

function indexPath(): string {
  return join(rig.root, "host.db");
}

/** What a SIGKILL leaves: the files as they are, with their logs, while nobody closes them in order. */
async function killAndCopy(): Promise<StoreRig> {
  const copy = createStoreRig();
  // File times stay, as they do after a kill: a boot looks at them.
  cpSync(rig.root, copy.root, { recursive: true, preserveTimestamps: true });
  return copy;
}

describe("a boot after a kill", () => {
  test("a row that was never written is read from its store", async () => {
    await createAgent("ada");
    await using copy = await killAndCopy();
    const found = copy.openIndex();
    expect(found.agents()).toEqual([
      { agentId: ada, summary: { name: "ada" }, lastSeq: rig.published.at(-1)?.seq, hasOpenTurn: true },
    ]);
    expect(found.findNonce(nonce("nonce-ada"))).toBe(ada);
    expect(found.findCreation(nonce("create-ada"))).toEqual({ agentId: ada, digest: "digest" });
  });

  test("a row that is older than its store is read again, and an open turn is never missed", async () => {
    const store = await createAgent("ada");
    index.putAgent({ agentId: ada, summary: { name: "old" }, lastSeq: 0, hasOpenTurn: false });
    await rowIsWritten(ada);
    await store.transact((tx) => tx.emit("test", {}));
    await using copy = await killAndCopy();
    expect(copy.openIndex().agents()).toEqual([
      { agentId: ada, summary: { name: "ada" }, lastSeq: rig.published.at(-1)?.seq, hasOpenTurn: true },
    ]);
  });

  test("a prompt that waits for a turn counts as an open one", async () => {
    const store = await createAgent("ada");
    await store.transact((tx) => tx.settleTurn(turnRow(1), "success", 9));
    await using copy = await killAndCopy();
    expect(copy.openIndex().agents()[0]?.hasOpenTurn).toBe(true);
    await store.transact((tx) => tx.deliverPrompt(brandId("prompt-nonce-ada"), turnRow(1).turnId));
    await using later = await killAndCopy();
    expect(later.openIndex().agents()[0]?.hasOpenTurn).toBe(false);
  });

  test("no number is given out twice", async () => {
    const store = await createAgent("ada");
    const used: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { events } = await store.transact((tx) => tx.emit("test", {}));
      used.push(events[0]?.seq ?? 0, (await index.commitHostEvent("agents", {})).seq);
    }
    await using copy = await killAndCopy();
    const next = await copy.openIndex().commitHostEvent("agents", {});
    expect(next.seq).toBeGreaterThan(Math.max(...used));
    expect(copy.openIndex().resumeFloor()).toBe(0);
  });

  test("a row whose folder was removed is removed", async () => {
    const store = await createAgent("ada");
    index.putAgent({ agentId: ada, summary: {}, lastSeq: 1, hasOpenTurn: false });
    await store.close();
    await index.close();
    rmSync(rig.agentFolder("ada"), { recursive: true });
    expect(rig.openIndex().agents()).toEqual([]);
  });

  test("after an orderly end no store is opened", async () => {
    const store = await createAgent("ada");
    index.putAgent({ agentId: ada, summary: { name: "ada" }, lastSeq: 1, hasOpenTurn: false });
    await store.close();
    await index.close();
    rig.logged.length = 0;
    expect(rig.openIndex().agents()).toHaveLength(1);
    expect(rig.logged.join("")).not.toContain("index.caught-up");
  });

  test("a folder that is no agent, or was never finished, isn't in the roster", async () => {
    await rig.open("unfinished", { seq: index.seq }).close();
    cpSync(rig.agentFolder("unfinished"), join(rig.root, "agents", " blank "), { recursive: true });
    writeFileSync(join(rig.root, "agents", "active-agent.json"), "{}");
    await index.close();
    expect(rig.openIndex().agents()).toEqual([]);
  });
});

describe("an index that is lost", () => {
  async function createTwo(): Promise<number> {
    for (const agentId of ["ada", "bob"]) await (await createAgent(agentId)).close();
    const last = await index.commitHostEvent("agents", {});
    await index.close();
    return last.seq;
  }

  function expectRebuilt(rebuilt: OpenedHostIndex, lastSeq: number): void {
    expect(rebuilt.agents().map(({ agentId, hasOpenTurn }) => ({ agentId, hasOpenTurn }))).toEqual([
      { agentId: "ada", hasOpenTurn: true },
      { agentId: "bob", hasOpenTurn: true },
    ]);
    expect(rebuilt.findNonce(nonce("nonce-bob"))).toBe("bob");
    expect(rebuilt.findCreation(nonce("create-bob"))).toEqual({ agentId: "bob", digest: "digest" });
    expect(rebuilt.lastSeq()).toBeGreaterThan(lastSeq);
    expect(rebuilt.resumeFloor()).toBeGreaterThan(lastSeq);
  }

  test("a missing one is built again from the stores, and old cursors can't be resumed", async () => {
    const lastSeq = await createTwo();
    rmSync(indexPath());
    expectRebuilt(rig.openIndex(), lastSeq);
  });

  test("a damaged one is moved aside whole and built again", async () => {
    const lastSeq = await createTwo();
    damage(indexPath(), 0);
    expectRebuilt(rig.openIndex(), lastSeq);
    const [moved] = readdirSync(join(rig.root, "quarantine"));
    expect(existsSync(join(rig.root, "quarantine", moved ?? "", "host.db"))).toBe(true);
    expect(rig.logged.join("")).toContain("index.damaged");
  });

  test("an empty one is no new one: it is built again, and numbers still rise", async () => {
    await createAgent("ada");
    await using copy = await killAndCopy();
    writeFileSync(join(copy.root, "host.db"), "");
    for (const part of ["-wal", "-shm"]) rmSync(join(copy.root, `host.db${part}`), { force: true });
    const found = copy.openIndex();
    expect(found.agents()).toMatchObject([{ agentId: ada }]);
    expect(found.seq.next()).toBeGreaterThan(rig.published.at(-1)?.seq ?? 0);
  });

  test("a rebuild that was cut short starts over", async () => {
    const lastSeq = await createTwo();
    rmSync(indexPath());
    writeFileSync(join(rig.root, ".host.db.rebuild"), "half a file");
    expectRebuilt(rig.openIndex(), lastSeq);
    expect(readdirSync(rig.root).filter((name) => name.includes("rebuild"))).toEqual([]);
  });

  test("a store that can't be read is reported and doesn't stop the others", async () => {
    const lastSeq = await createTwo();
    const broken = rig.agentFolder("broken");
    cpSync(rig.agentFolder("ada"), broken, { recursive: true });
    damage(join(broken, "store.db"), 0);
    rmSync(indexPath());
    expectRebuilt(rig.openIndex(), lastSeq);
    expect(rig.logged.join("")).toContain("index.store-unreadable");
  });

  test("a newer one is refused, not built again", async () => {
    await createTwo();
    const writer = new SqliteDatabase(indexPath());
    writer.pragma("user_version = 99");
    writer.close();
    expect(() => rig.openIndex()).toThrow(expect.objectContaining({ code: "store/newer-schema" }));
    expect(existsSync(join(rig.root, "quarantine"))).toBe(false);
  });

  test("a fresh data root starts at nothing", () => {
    expect([index.lastSeq(), index.resumeFloor(), index.agents()]).toEqual([0, 0, []]);
  });
});

describe("a fault of the index", () => {
  test("rows and claims are known while the file can't be opened", async () => {
    await (await createAgent("ada")).close();
    await index.close();
    const state = { fails: false };
    const faulty = openFaulty(state);
    await faulty.catchUp();
    state.fails = true;
    renameSync(indexPath(), `${indexPath()}.away`);
    mkdirSync(indexPath());
    faulty.claimNonce(nonce("n1"), ada);
    await until(() => !faulty.healthy);
    faulty.putAgent({ agentId: ada, summary: { name: "newer" }, lastSeq: 1, hasOpenTurn: false });
    expect(faulty.agents()).toMatchObject([{ agentId: ada, summary: { name: "newer" } }]);
    expect(faulty.findNonce(nonce("n1"))).toBe(ada);
    await faulty.close();
  });

  /** an index whose commits fail while `fails` is set */
  function openFaulty(state: { fails: boolean }): OpenedHostIndex {
    return openHostIndex({
      root: rig.root,
      onCommitted: () => {},
      clock: systemClock,
      logger: rig.logger,
      openFile(options) {
        const database = openDatabase(options);
        return {
          ...database,
          commit() {
            if (state.fails) throw new SqliteDatabase.SqliteError("disk I/O error", "SQLITE_IOERR_FSYNC");
            database.commit();
          },
        };
      },
    });
  }

  test("a failed commit rejects its group, and the next one runs on the file opened anew", async () => {
    await index.close();
    const state = { fails: true };
    const faulty = openFaulty(state);
    const results = await Promise.allSettled([
      faulty.recordCreation(nonce("c1"), ada, "digest"),
      faulty.commitHostEvent("agents", {}),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "store/unavailable" } });
    }
    expect(faulty.healthy).toBe(false);
    state.fails = false;
    await faulty.recordCreation(nonce("c1"), ada, "digest");
    expect(faulty.findCreation(nonce("c1"))).toEqual({ agentId: ada, digest: "digest" });
    expect(faulty.healthy).toBe(true);
    await faulty.close();
  });

  test("a row and a claim that couldn't be written are written later, and found meanwhile", async () => {
    await (await createAgent("ada")).close();
    await index.close();
    const state = { fails: false };
    const faulty = openFaulty(state);
    await faulty.catchUp();
    state.fails = true;
    faulty.putAgent({ agentId: ada, summary: { name: "written later" }, lastSeq: 1, hasOpenTurn: false });
    faulty.claimNonce(nonce("n1"), ada);
    await until(() => !faulty.healthy);
    expect(faulty.findNonce(nonce("n1"))).toBe(ada);
    state.fails = false;
    faulty.claimNonce(nonce("n2"), ada);
    await faulty.recordCreation(nonce("c1"), ada, "digest");
    await faulty.close();
    const next = rig.openIndex();
    expect(next.agents()[0]?.summary).toEqual({ name: "written later" });
    expect([next.findNonce(nonce("n1")), next.findNonce(nonce("n2"))]).toEqual([ada, ada]);
  });

  test("damage that shows while the host runs is repaired by a rebuild, and numbers still rise", async () => {
    await createAgent("ada");
    await index.catchUp();
    const before = (await index.commitHostEvent("agents", {})).seq;
    const other = new SqliteDatabase(indexPath());
    other.pragma("wal_checkpoint(TRUNCATE)");
    // Only the ledger of nonces: an opening that doesn't check the whole file wouldn't meet it.
    const page = Number(
      other.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'nonces'").pluck().get(),
    );
    other.close();
    damage(indexPath(), (page - 1) * 4_096, 1);
    // The first use that meets the damage fails; the one after it finds a new index.
    index.claimNonce(nonce("fresh"), ada);
    await until(() => !index.healthy);
    expect(index.findNonce(nonce("fresh"))).toBe(ada);
    expect(index.healthy).toBe(false);
    const after = await index.commitHostEvent("agents", {});
    expect(after.seq).toBeGreaterThan(before);
    expect(index.findNonce(nonce("nonce-ada"))).toBe(ada);
    // What comes from here on can be resumed from.
    expect(index.resumeFloor()).toBeLessThanOrEqual(after.seq);
  });
});

/** waits until the index's row of an agent is on disk */
async function rowIsWritten(agentId: AgentId): Promise<void> {
  const reader = new SqliteDatabase(indexPath(), { readonly: true });
  const row = reader.prepare("SELECT 1 FROM agents WHERE agent_id = ?").pluck();
  await until(() => row.get(agentId) !== undefined);
  reader.close();
}

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadlineMs) throw new Error("the condition never came true");
    await systemClock.sleep(10);
  }
}

function damage(path: string, from: number, pages = 12): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(4_096 * pages, 0x5a), 0, 4_096 * pages, from);
  closeSync(file);
}
