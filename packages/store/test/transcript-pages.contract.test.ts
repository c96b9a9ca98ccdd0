/** Pages of the main window, of a span of time, and of a thread. */
import type { AgentStore, EntryPage } from "@sand/agent-core";
import { brandId, type EntryId, type ToolCallEntry, type TranscriptEntry } from "@sand/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStoreRig, message, promptRow, type StoreRig, turnRow } from "./store-rig.ts";

let rig: StoreRig;
let store: AgentStore;

beforeEach(() => {
  rig = createStoreRig();
  store = rig.open();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

function toolCall(id: string, timestampMs = 1): ToolCallEntry {
  return {
    kind: "tool-call",
    id: brandId<EntryId>(id),
    name: "shell",
    status: "completed",
    summary: "",
    argsPreview: "",
    outputHandle: null,
    timestampMs,
  };
}

async function append(...entries: TranscriptEntry[]): Promise<void> {
  await store.transact((tx) => {
    for (const entry of entries) tx.appendEntry(entry);
  });
}

function idsOf({ entries, more }: EntryPage): { readonly ids: readonly string[]; readonly more: boolean } {
  return { ids: entries.map(({ entry }) => entry.id), more };
}

test("a window leaves tool calls and branches out, and pages through what is left", async () => {
  const branched = { ...message("branched"), branched: true };
  await append(
    message("e1"),
    toolCall("c1"),
    message("e2"),
    toolCall("c2"),
    branched,
    message("e3"),
    toolCall("c3"),
  );
  expect(idsOf(store.read.windowBefore({ limit: 2 }))).toEqual({ ids: ["e2", "e3"], more: true });
  const second = store.read.findEntry(brandId("e2"))?.seq ?? 0;
  expect(idsOf(store.read.windowBefore({ limit: 2, beforeSeq: second }))).toEqual({
    ids: ["e1"],
    more: false,
  });
});

test("a span holds both of its ends and pages backwards", async () => {
  await append(...[10, 20, 30, 40, 50].map((ms) => ({ ...message(`e${ms}`), timestampMs: ms })));
  const span = { sinceMs: 20, untilMs: 40, limit: 2 };
  const newest = store.read.entriesInSpan(span);
  expect(idsOf(newest)).toEqual({ ids: ["e30", "e40"], more: true });
  const beforeSeq = newest.entries[0]?.seq ?? 0;
  expect(idsOf(store.read.entriesInSpan({ ...span, beforeSeq }))).toEqual({ ids: ["e20"], more: false });
  expect(idsOf(store.read.entriesInSpan({ limit: 9, untilMs: 9 }))).toEqual({ ids: [], more: false });
  expect(idsOf(store.read.entriesInSpan({ limit: 9, sinceMs: 41 }))).toEqual({ ids: ["e50"], more: false });
});

test("pages of a span lose and repeat no entry when the clock was set back", async () => {
  const times = [100, 100, 40, 50, 100, 60, 110, 55, 100];
  await append(...times.map((ms, index) => ({ ...message(`e${index}`), timestampMs: ms })));
  const seen: string[] = [];
  let beforeSeq: number | undefined;
  for (let pages = 0; pages < 9; pages += 1) {
    const page = store.read.entriesInSpan({
      limit: 2,
      sinceMs: 50,
      ...(beforeSeq === undefined ? {} : { beforeSeq }),
    });
    seen.unshift(...page.entries.map(({ entry }) => entry.id));
    if (!page.more) break;
    beforeSeq = page.entries[0]?.seq;
  }
  expect(seen).toEqual(["e3", "e7", "e5", "e0", "e1", "e4", "e8", "e6"]);
});

test("a cursor that names no entry begins at the one below it", async () => {
  await append(message("e1"), message("e2"));
  await store.transact((tx) => tx.updateEntry(message("e1")));
  await append(message("e3"));
  expect(idsOf(store.read.entriesInSpan({ limit: 9, beforeSeq: 3 })).ids).toEqual(["e1", "e2"]);
  expect(idsOf(store.read.entriesInSpan({ limit: 9, beforeSeq: 1 })).ids).toEqual([]);
  expect(idsOf(store.read.entriesInSpan({ limit: 9, beforeSeq: 0 })).ids).toEqual([]);
});

test("replies are found by the entry that they name, the newest ones when there are too many", async () => {
  const reply = (id: string, replyToId: string) => ({ ...message(id), replyToId });
  await append(
    message("root"),
    reply("r1", "root"),
    reply("other", "else"),
    reply("r2", "root"),
    reply("r3", "root"),
  );
  const ids = (limit: number) => store.read.repliesTo(brandId("root"), limit).map(({ entry }) => entry.id);
  expect(ids(9)).toEqual(["r1", "r2", "r3"]);
  expect(ids(2)).toEqual(["r2", "r3"]);
  expect(store.read.countReplies(brandId("root"))).toBe(3);
  expect(store.read.countReplies(brandId("r1"))).toBe(0);
});

test("records are read by kind, in order, of one turn only", async () => {
  const absent = { kind: "boxAbsent", code: "box/unavailable", reason: "r" } as const;
  await store.transact((tx) => {
    tx.insertPrompt(promptRow("n1"));
    tx.insertTurn(turnRow(1));
    const fence = { turnId: turnRow(1).turnId, generation: 1 };
    tx.appendRecord(fence, { ...absent, atMs: 1 });
    tx.appendRecord(fence, { kind: "boxReady", atMs: 2 });
    tx.appendRecord(fence, { ...absent, atMs: 3 });
    tx.settleTurn(fence, "success", 4);
    tx.insertTurn(turnRow(2));
    tx.appendRecord({ turnId: turnRow(2).turnId, generation: 2 }, { ...absent, atMs: 5 });
  });
  expect(store.read.recordsOfKind(turnRow(1).turnId, "boxAbsent").map(({ atMs }) => atMs)).toEqual([1, 3]);
});
