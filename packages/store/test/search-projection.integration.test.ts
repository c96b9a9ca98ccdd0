/** The search index over real stores: what is found, what it costs, and how it comes back. */
import {
  copyFileSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type AgentId, brandId, type EntryId, type TranscriptEntry } from "@sand/protocol";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readProjected } from "../src/projections/read-projected.ts";
import { converse, createProjectionRig, type ProjectionRig } from "./projection-rig.ts";
import { message } from "./store-rig.ts";

const indexPath = (world: ProjectionRig): string => join(world.rig.root, "search-index.db");

/** everything that the index says, without what only tells where it lies */
function contents(world: ProjectionRig): unknown {
  const database = new Database(indexPath(world), { readonly: true });
  try {
    const all = (sql: string): unknown[] => database.prepare(sql).all();
    return {
      messages: all("SELECT * FROM messages ORDER BY id"),
      media: all("SELECT agent_id, entry_id, file_name, kind FROM media ORDER BY agent_id, entry_id"),
      agents: all("SELECT * FROM agents ORDER BY agent_id"),
      marks: all("SELECT * FROM journal_marks ORDER BY agent_id, begins"),
    };
  } finally {
    database.close();
  }
}

/** what the index holds of each entry */
function bodies(world: ProjectionRig): Record<string, unknown> {
  const database = new Database(indexPath(world), { readonly: true });
  try {
    return Object.fromEntries(
      database.prepare("SELECT entry_id, body FROM messages").raw().all() as [string, string][],
    );
  } finally {
    database.close();
  }
}

async function twoAgents(world: ProjectionRig) {
  const [ada, bob] = [world.rig.open("ada"), world.rig.open("bob")];
  await converse(ada, 1, "Where is the café?", "The café is around the corner.");
  await converse(bob, 1, "写一首关于春天的诗", "春风又绿江南岸 👍");
  await converse(ada, 2, "And the library?", "Closed for renovation.");
  world.project("ada", "bob");
  return { ada, bob };
}

test("what people wrote and agents answered is found, the newest first", async () => {
  await using world = createProjectionRig();
  await twoAgents(world);
  expect(world.found("cafe")).toEqual(["a-ada-1", "q-ada-1"]);
  expect(world.found("libr")).toEqual(["q-ada-2"]);
  expect(world.found("春天")).toEqual(["q-bob-1"]);
  expect(world.found("诗")).toEqual(["q-bob-1"]);
  expect(world.found("👍")).toEqual(["a-bob-1"]);
  expect(world.found('"around the corner"')).toEqual(["a-ada-1"]);
  expect(world.found("corner the")).toEqual(["a-ada-1"]);
  expect(world.found("nowhere")).toEqual([]);
  expect(world.find("the", 1)).toEqual([
    {
      ...{ agentId: "ada", entryId: "q-ada-2", role: "user", timestampMs: 1_700_000_000_002 },
      snippet: "And the library?",
    },
  ]);
});

test("what was said a moment ago is found by the first search", async () => {
  await using world = createProjectionRig();
  const { ada } = await twoAgents(world);
  await converse(ada, 3, "anything fresh?", "yes");
  world.projector().receive({ kind: "project", agents: [brandId<AgentId>("ada")] });
  expect(world.found("fresh")).toEqual(["q-ada-3"]);
});

const hostile = [
  '"',
  "'",
  "a OR",
  "(",
  "*",
  "col:x",
  "NEAR(",
  "-",
  "a\0b",
  "\ud800",
  '""""',
  "^",
  "{",
  "a AND NOT b",
];

test.each(hostile)("no query is an error: %j", async (query) => {
  await using world = createProjectionRig();
  await twoAgents(world);
  expect(Array.isArray(world.find(query))).toBe(true);
});

test("an entry that changes is found by what it says now, and one that is hidden is not found", async () => {
  await using world = createProjectionRig();
  const { ada } = await twoAgents(world);
  const changed = message("q-ada-1", "Where is the harbour?");
  await ada.transact((tx) => tx.updateEntry(changed));
  world.project("ada");
  expect(world.found("harbour")).toEqual(["q-ada-1"]);
  expect(world.found("café")).toEqual(["a-ada-1"]);
  const hidden: TranscriptEntry & { branched: true } = { ...changed, branched: true };
  await ada.transact((tx) => tx.updateEntry(hidden));
  world.project("ada");
  expect(world.found("harbour")).toEqual([]);
});

test("files are found by their name", async () => {
  await using world = createProjectionRig();
  const ada = world.rig.open("ada");
  const file = { kind: "user-attachment", id: "f", file_name: "annual-report.pdf", timestampMs: 3 };
  await ada.transact((tx) => tx.appendEntry(file as never));
  world.project("ada");
  world.projector().receive({ kind: "search", of: "media", turn: 900, query: "report", limit: 5 });
  expect(world.said.at(-1)).toMatchObject({
    kind: "hits",
    hits: [
      { agentId: "ada", entryId: "f", fileName: "annual-report.pdf", ext: "pdf", mime: "application/pdf" },
    ],
  });
});

test("an index that was removed, truncated, overwritten or swapped comes back with the same rows", async () => {
  await using world = createProjectionRig();
  await twoAgents(world);
  world.restart();
  const whole = contents(world);
  const junk = join(world.rig.root, "junk.db");
  const other = new Database(junk);
  other.exec("CREATE TABLE positions (a)");
  other.close();
  const harms: readonly (() => void)[] = [
    () => rmSync(indexPath(world)),
    () => truncateSync(indexPath(world), 5_000),
    () => truncateSync(indexPath(world), 0),
    () => writeFileSync(indexPath(world), "not a database ".repeat(1_000)),
    () => copyFileSync(junk, indexPath(world)),
  ];
  for (const harm of harms) {
    world.restart();
    harm();
    world.catchUp(["ada", 1], ["bob", 1]);
    expect(world.found("library")).toEqual(["q-ada-2"]);
    world.restart();
    expect(contents(world)).toEqual(whole);
  }
  // Three of them were damage: they are kept, so that somebody can look into it.
  expect(readdirSync(join(world.rig.root, "quarantine")).length).toBeGreaterThanOrEqual(1);
  expect(world.said.filter(({ kind }) => kind === "fresh")).toHaveLength(1 + harms.length);
});

test("an index that vanishes while it is open is noticed", async () => {
  await using world = createProjectionRig();
  const { ada } = await twoAgents(world);
  rmSync(indexPath(world));
  await converse(ada, 3, "thirdly", "indeed");
  world.project("ada");
  expect(existsSync(indexPath(world))).toBe(true);
  expect(world.said.at(-1)).toEqual({ kind: "fresh", setAside: undefined });
  world.catchUp(["ada", 1], ["bob", 1]);
  expect(world.found("thirdly")).toEqual(["q-ada-3"]);
  expect(world.found("library")).toEqual(["q-ada-2"]);
});

test("a row that was changed behind our back is never shown: the index is set aside and begun anew", async () => {
  await using world = createProjectionRig();
  await twoAgents(world);
  world.restart();
  const database = new Database(indexPath(world));
  database.exec("UPDATE messages SET body = 'forged: ' || body WHERE entry_id = 'a-ada-2'");
  database.close();
  expect(world.found("renovation")).toEqual([]);
  expect(world.said.some((one) => one.kind === "fresh" && one.setAside !== undefined)).toBe(true);
  world.catchUp(["ada", 1], ["bob", 1]);
  expect(world.find("renovation")).toMatchObject([{ snippet: "Closed for renovation." }]);
});

test("what is up to date is known without a look into any store, and what is behind as well", async () => {
  await using world = createProjectionRig();
  const { ada } = await twoAgents(world);
  world.restart();
  const before = readProjected(world.rig.root);
  expect(before?.get("ada")).toBe(ada.read.lastSeq());
  await converse(ada, 3, "more", "yes");
  expect(readProjected(world.rig.root)).toEqual(before);
  expect(before?.get("ada")).toBeLessThan(ada.read.lastSeq());
});

test("an agent that is gone vanishes from the index, and the others stay", async () => {
  await using world = createProjectionRig();
  const { bob } = await twoAgents(world);
  world.projector().receive({ kind: "forget", turn: 7, agentId: brandId<AgentId>("ada") });
  expect(world.said.at(-1)).toEqual({ kind: "forgotten", turn: 7 });
  world.settle();
  expect(world.found("cafe")).toEqual([]);
  expect(world.found("春天")).toEqual(["q-bob-1"]);
  expect([...(readProjected(world.rig.root)?.keys() ?? [])]).toEqual(["bob"]);
  // At a start the roster says who is there.
  world.catchUp(["carl", 0]);
  expect(world.found("春天")).toEqual([]);
  expect(bob.healthy).toBe(true);
});

test("another store under the agent's name is scanned anew", async () => {
  await using world = createProjectionRig();
  const { ada } = await twoAgents(world);
  await ada.close();
  await using other = createProjectionRig();
  const another = other.rig.open("ada");
  for (let turn = 1; turn <= 5; turn += 1) await converse(another, turn, `swapped ${turn}`, "different");
  await another.close();
  world.restart();
  renameSync(join(other.rig.root, "agents/ada/store.db"), join(world.rig.root, "agents/ada/store.db"));
  world.project("ada");
  expect(world.found("swapped")).toHaveLength(5);
  expect(world.found("library")).toEqual([]);
});

test("events that were trimmed before they were seen lose nothing: what is new comes first", async () => {
  await using world = createProjectionRig();
  const ada = world.rig.open("ada");
  await converse(ada, 1, "first of all", "yes");
  world.project("ada");
  await ada.transact((tx) => tx.updateEntry(message("q-ada-1", "changed in the gap")));
  await converse(ada, 2, "new in the gap", "yes");
  for (let batch = 0; batch < 8; batch += 1) {
    await ada.transact((tx) => {
      for (let one = 0; one < 1_000; one += 1) tx.emit("noise", { batch, one });
    });
  }
  expect(ada.eventsSince(1, 10)).toBeUndefined();
  world.projector().receive({ kind: "project", agents: [brandId<AgentId>("ada")] });
  for (let chunk = 0; chunk < 2; chunk += 1) world.projector().step();
  // A search would do the rest first, so this looks into the file.
  expect(bodies(world)).toMatchObject({ "q-ada-1": "first of all", "q-ada-2": "new in the gap" });
  world.restart();
  world.project("ada");
  expect(world.found("gap")).toHaveLength(2);
  expect(world.found("first")).toEqual([]);
});

test("a store that can't be read is told, and the others go on", async () => {
  await using world = createProjectionRig();
  await twoAgents(world);
  const broken = join(world.rig.root, "agents/broken");
  await world.rig.open("broken").close();
  writeFileSync(join(broken, "store.db"), "junk ".repeat(3_000));
  world.catchUp(["broken", 9], ["ada", 1], ["bob", 1]);
  expect(world.said).toContainEqual(expect.objectContaining({ kind: "agent-failed", agentId: "broken" }));
  expect(world.found("cafe")).toHaveLength(2);
});

test("a scan that ends in the middle goes on where it stood", async () => {
  await using world = createProjectionRig();
  const ada = world.rig.open("ada");
  await ada.transact((tx) => {
    for (let one = 0; one < 1_800; one += 1) tx.appendEntry(message(`m-${one}`, `word${one} common`));
  });
  world.projector().receive({ kind: "project", agents: [brandId<AgentId>("ada")] });
  for (let chunk = 0; chunk < 3; chunk += 1) world.projector().step();
  expect(Object.keys(bodies(world))).toHaveLength(1_000);
  world.restart();
  world.project("ada");
  expect(world.found("word0")).toEqual(["m-0"]);
  expect(world.found("word1799")).toEqual(["m-1799"]);
  const database = new Database(indexPath(world), { readonly: true });
  expect(database.prepare("SELECT count(*) FROM messages").pluck().get()).toBe(1_800);
  database.close();
});

test("entries of one moment are all there, however many", async () => {
  await using world = createProjectionRig();
  const ada = world.rig.open("ada");
  await ada.transact((tx) => {
    for (let one = 0; one < 3_000; one += 1)
      tx.appendEntry({ ...message(`m-${one}`, "same"), id: brandId<EntryId>(`m-${one}`) });
  });
  world.project("ada");
  const database = new Database(indexPath(world), { readonly: true });
  expect(database.prepare("SELECT count(*) FROM messages").pluck().get()).toBe(3_000);
  database.close();
});
