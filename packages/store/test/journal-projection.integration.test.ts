/** The journals over real stores and real files: whatever is done to one, it comes back with the same bytes. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type AgentId, brandId } from "@sand/protocol";
import { expect, test } from "vitest";
import { journalPath } from "../src/projections/journal-file.ts";
import { converse, createProjectionRig, type ProjectionRig } from "./projection-rig.ts";

const ada = brandId<AgentId>("ada");
const fileOf = (world: ProjectionRig): string => journalPath(world.rig.root, ada);

/** about 260 KB in several marks */
async function longJournal(world: ProjectionRig): Promise<string> {
  const store = world.rig.open("ada");
  for (let turn = 1; turn <= 26; turn += 1)
    await converse(store, turn, `question ${turn}`, `${turn} `.repeat(3_500));
  world.project("ada");
  return world.journal("ada");
}

const parsed = (text: string): unknown[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

test("a conversation stands in the file in the lines of the contract", async () => {
  await using world = createProjectionRig();
  const store = world.rig.open("ada");
  await converse(store, 1, "hello", "hi there");
  world.project("ada");
  expect(parsed(world.journal("ada"))).toEqual([
    { type: "metadata", version: 1 },
    { role: "user", message: { content: [{ type: "text", text: "[t0u]\nhello" }] } },
    {
      role: "assistant",
      message: {
        content: [{ type: "tool_use", name: "send_message", input: { text: { content: "hi there" } } }],
      },
    },
    { type: "turn_ended", outcome: "success", code: null },
  ]);
  const folder = join(world.rig.root, "agent-transcripts/ada");
  expect(readFileSync(join(folder, ".journal-mode"), "utf8")).toBe("journal\n");
  expect(statSync(fileOf(world)).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("what is projected bit by bit is what is projected at once", async () => {
  await using world = createProjectionRig();
  const store = world.rig.open("ada");
  for (let turn = 1; turn <= 40; turn += 1) {
    await converse(store, turn, `question ${turn}`, "x".repeat((turn * 997) % 9_000));
    world.project("ada");
    if (turn % 7 === 0) world.restart();
  }
  const grown = world.journal("ada");
  rmSync(join(world.rig.root, "agent-transcripts"), { recursive: true });
  world.project("ada");
  expect(world.journal("ada")).toBe(grown);
  expect(parsed(grown)).toHaveLength(1 + 40 * 3);
});

test("an agent without a turn has no file", async () => {
  await using world = createProjectionRig();
  const store = world.rig.open("ada");
  await store.transact((tx) => tx.setValue("a", 1));
  world.project("ada");
  expect(existsSync(fileOf(world))).toBe(false);
});

const harms: readonly (readonly [name: string, harm: (file: string) => void])[] = [
  ["removed", (file) => rmSync(file)],
  ["emptied", (file) => truncateSync(file, 0)],
  ["cut in the middle of a line", (file) => truncateSync(file, 100_003)],
  ["torn at its tail", (file) => truncateSync(file, statSync(file).size - 7)],
  ["followed by zeros", (file) => appendFileSync(file, Buffer.alloc(5_000))],
  ["followed by half a line", (file) => appendFileSync(file, '{"role":"us')],
  ["followed by somebody else's line", (file) => appendFileSync(file, '{"role":"user"}\n')],
  ["zeroed in the middle", (file) => overwrite(file, 130_000, Buffer.alloc(4_096))],
  ["zeroed at its head", (file) => overwrite(file, 0, Buffer.alloc(512))],
  ["spliced by another writer", (file) => splice(file, 90_000, '{"role":"user","message":{}}\n')],
  ["short of a line in the middle", (file) => splice(file, 90_000, "", 3_000)],
  ["replaced", (file) => writeFileSync(file, "something else\n".repeat(30_000))],
];

function overwrite(file: string, at: number, bytes: Buffer): void {
  const content = readFileSync(file);
  bytes.copy(content, at);
  writeFileSync(file, content);
}

function splice(file: string, at: number, text: string, without = 0): void {
  const content = readFileSync(file);
  writeFileSync(
    file,
    Buffer.concat([content.subarray(0, at), Buffer.from(text), content.subarray(at + without)]),
  );
}

test.each(harms)("a journal that was %s comes back with the same bytes", async (_name, harm) => {
  await using world = createProjectionRig();
  const whole = await longJournal(world);
  harm(fileOf(world));
  world.project("ada");
  expect(world.journal("ada")).toBe(whole);
  // And so it does when nobody remembers how far it was right.
  harm(fileOf(world));
  world.restart();
  rmSync(join(world.rig.root, "search-index.db"));
  world.project("ada");
  expect(world.journal("ada")).toBe(whole);
});

test("what was right before the damage isn't written again", async () => {
  await using world = createProjectionRig();
  await longJournal(world);
  const before = statSync(fileOf(world), { bigint: true });
  world.restart();
  rmSync(join(world.rig.root, "search-index.db"));
  world.project("ada");
  const after = statSync(fileOf(world), { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
});

test("damage is repaired together with what is new", async () => {
  await using world = createProjectionRig();
  await longJournal(world);
  const store = world.rig.open("ada");
  await converse(store, 27, "and now?", "now as well");
  overwrite(fileOf(world), 70_000, Buffer.alloc(100));
  world.restart();
  world.project("ada");
  const repaired = world.journal("ada");
  expect(parsed(repaired)).toHaveLength(1 + 27 * 3);
  rmSync(fileOf(world));
  world.project("ada");
  expect(world.journal("ada")).toBe(repaired);
});

test("the sidecar is put right", async () => {
  await using world = createProjectionRig();
  await longJournal(world);
  const mode = join(world.rig.root, "agent-transcripts/ada/.journal-mode");
  writeFileSync(mode, "\0\0\0");
  world.project("ada");
  expect(readFileSync(mode, "utf8")).toBe("journal\n");
});

test("a journal that can't be written fails its own agent, and is whole once it can", async () => {
  await using world = createProjectionRig();
  const store = world.rig.open("ada");
  await converse(store, 1, "hello", "hi");
  const bob = world.rig.open("bob");
  await converse(bob, 1, "hello", "hi");
  mkdirSync(fileOf(world), { recursive: true });
  world.project("ada", "bob");
  expect(world.said).toContainEqual(expect.objectContaining({ kind: "agent-failed", agentId: "ada" }));
  expect(world.journal("bob")).toContain("hi");
  expect(world.found("hello")).toHaveLength(2);
  rmSync(fileOf(world), { recursive: true });
  world.project("ada");
  expect(world.journal("ada")).toBe(world.journal("bob"));
});

test("a call's result has the name of its call, also when they are projected apart", async () => {
  await using world = createProjectionRig();
  const store = world.rig.open("ada");
  await converse(store, 1, "hello", "hi");
  const fence = { turnId: brandId<never>("turn-2"), generation: 2 };
  const call = {
    ...{ callId: brandId<never>("c-1"), providerCallId: "x", entryId: brandId<never>("e-1") },
    ...{ name: "Shell", argsText: '{"command":"ls"}' },
  };
  await store.transact((tx) => {
    tx.insertTurn({ ...fence, state: "open", outcome: null, startedAtMs: 1, settledAtMs: null });
    tx.appendRecord(fence, {
      ...{ kind: "stepCompleted", step: 1, attempt: 1, finish: "tool-calls", text: "", calls: [call] },
      ...{ answerEntryId: null, rawParts: [], provider: "p", model: "m", atMs: 1 },
      usage: {
        ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null },
        ...{ cacheWriteTokens: null, reasoningTokens: null },
      },
    });
  });
  world.project("ada");
  const result = {
    callId: call.callId,
    outcome: "ok",
    text: "files",
    outputHandle: null,
    details: {},
  } as const;
  await store.transact((tx) => tx.appendRecord(fence, { kind: "toolSettled", result, atMs: 2 }));
  world.restart();
  world.project("ada");
  expect(parsed(world.journal("ada")).at(-1)).toEqual({
    role: "tool",
    message: { content: [{ type: "tool_result", name: "Shell", result: { success: "files" } }] },
  });
});
