import type { TurnRecord } from "@sand/agent-core";
import { BoxError, brandId, type TurnId } from "@sand/protocol";
import { expect, test } from "vitest";
import { replayTurn } from "./replay-turn.ts";
import { createRequestChecks } from "./request-checks.ts";
import { makeFixture, readFixture } from "./turn-fixture.ts";
import type { TurnJournal } from "./turn-journal.ts";

const provenance = { origin: "user", trust: "trusted", lineage: [] } as const;
const turnId = brandId<TurnId>("turn-1");
const records: readonly TurnRecord[] = [
  { kind: "turnStarted", turnId, generation: 1, provenance, atMs: 1 },
  { kind: "interruptRequested", by: "user", atMs: 2 },
  {
    kind: "turnSettled",
    outcome: "aborted",
    code: null,
    reason: "interrupted by the user",
    atMs: 3,
  },
];
const journal: TurnJournal = { agentId: brandId("agent-1"), turnId, generation: 1, records };
const source = { part: () => undefined, history: () => [] };
const text = makeFixture(journal, source);

function codeOf(fixture: string): string {
  try {
    readFixture(fixture);
    return "read";
  } catch (error) {
    return error instanceof BoxError ? error.code : String(error);
  }
}

test("a turn that went into a fixture is replayed from it as from its store", () => {
  const read = readFixture(text);
  expect(read.journal).toEqual(journal);
  const replay = replayTurn(read.journal, createRequestChecks(read.source));
  expect(replay).toEqual(replayTurn(journal, createRequestChecks(source)));
  expect(replay.kind).toBe("same");
});

test.each([
  ["one that was changed", text.replace("interrupted by", "interrupted  by"), "archive/damaged"],
  ["one that was cut", text.slice(0, -40), "archive/damaged"],
  ["one of a newer version", text.replace('"version": 1', '"version": 2'), "archive/newer-version"],
  ["another file", '{"format":"something"}', "archive/damaged"],
  ["no object", "null", "archive/damaged"],
  ["nothing", "", "archive/damaged"],
])("%s is refused", (_what, fixture, code) => {
  expect(codeOf(fixture)).toBe(code);
});
