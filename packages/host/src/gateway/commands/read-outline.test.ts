/** A long conversation: the end-to-end cases are in `test/transcripts.integration.test.ts`. */
import type { AgentReads, StoredEntry, TurnRecord, TurnRow } from "@sand/agent-core";
import { brandId, type EntryId, limits, type TranscriptEntry } from "@sand/protocol";
import { expect, test } from "vitest";
import { readOutline } from "./read-outline.ts";

type Step = Extract<TurnRecord, { readonly kind: "stepCompleted" }>;

/** Turn `number` lasts from 10 × number for 5 ms and makes three entries: a prompt, a call and an answer. */
function turnOf(number: number): TurnRow {
  return {
    turnId: brandId(`t${number}`),
    generation: number,
    state: "settled",
    outcome: "success",
    startedAtMs: number * 10,
    settledAtMs: number * 10 + 5,
  };
}

function entriesOf(number: number): readonly TranscriptEntry[] {
  const id = (name: string) => brandId<EntryId>(`${name}${number}`);
  const timestampMs = number * 10 + 2;
  return [
    { kind: "message", id: id("user"), role: "user", content: "go", timestampMs },
    {
      kind: "tool-call",
      id: id("call"),
      name: "Shell",
      status: "completed",
      summary: "ls",
      argsPreview: "",
      outputHandle: null,
      timestampMs,
    },
    {
      kind: "send-message",
      id: id("answer"),
      message: { type: "text", content: "done" },
      requestId: brandId("r"),
      timestampMs,
    },
  ];
}

function stepOf(number: number): Step {
  const usage = {
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  return {
    kind: "stepCompleted",
    step: 0,
    attempt: 0,
    finish: "tool-calls",
    text: `beside ${number}`,
    answerEntryId: null,
    calls: [
      {
        callId: brandId(`call${number}`),
        providerCallId: "p",
        entryId: brandId(`call${number}`),
        name: "Shell",
        argsText: "{}",
      },
    ],
    usage,
    provider: "p",
    model: "m",
    rawParts: [],
    atMs: number * 10 + 2,
  };
}

/** Only what an outline may read; anything else is absent and would throw. */
function longConversation(turns: number) {
  const read: string[] = [];
  const stored: readonly StoredEntry[] = Array.from({ length: turns }, (_, index) => entriesOf(index + 1))
    .flat()
    .map((entry, index) => ({ seq: index + 1, entry }));
  const reads: Pick<AgentReads, "entriesBefore" | "openTurn" | "settledTurns" | "recordsOfKind"> = {
    entriesBefore: ({ limit }) => ({ entries: stored.slice(-limit), more: stored.length > limit }),
    openTurn: () => undefined,
    settledTurns({ limit, beforeGeneration = Number.MAX_SAFE_INTEGER }) {
      const newest = Math.min(turns, beforeGeneration - 1);
      return Array.from({ length: Math.min(limit, newest) }, (_, index) => turnOf(newest - index));
    },
    recordsOfKind<Kind extends TurnRecord["kind"]>(turnId: string, kind: Kind) {
      read.push(turnId);
      const isOfKind = (record: TurnRecord): record is Extract<TurnRecord, { readonly kind: Kind }> =>
        record.kind === kind;
      const records: readonly TurnRecord[] = [stepOf(Number(turnId.slice(1)))];
      return records.filter(isOfKind);
    },
  };
  return { reads, read };
}

test("each call of a long conversation has the text that was said beside it right before it", () => {
  const { reads } = longConversation(120);
  const items = readOutline(reads);
  const kinds = Array.from({ length: 120 }, () => ["user", "assistant-text", "tool-call", "send-message"]);
  expect(items.map(({ kind }) => kind)).toEqual(kinds.flat());
  const said = items.flatMap((item) => (item.kind === "assistant-text" ? [item.text] : []));
  expect(said).toEqual(Array.from({ length: 120 }, (_, index) => `beside ${index + 1}`));
});

test("an outline reads the turns of its newest entries and no older one", () => {
  const { reads, read } = longConversation(2_000);
  const items = readOutline(reads);
  expect(items.filter(({ kind }) => kind !== "assistant-text")).toHaveLength(limits.outlineMaxEntries);
  // 1,000 entries are those of 333 turns and one entry of the turn before.
  expect(read).toHaveLength(334);
  expect(read.at(-1)).toBe("t1667");
});
