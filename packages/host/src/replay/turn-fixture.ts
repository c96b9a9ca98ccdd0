/**
 * One turn in one JSON file: its journal, the turns that its requests held before it, and what else they were built
 * from. It is replayed anywhere, in a test too, and holds what a transcript holds: no token and no key.
 */
import { createHash } from "node:crypto";
import { reduceTurnRecords, type TurnRecord } from "@sand/agent-core";
import { type AgentId, BoxError, brandId, type JsonValue, type TurnId } from "@sand/protocol";
import type { EarlierTurn, JournalSource, TurnJournal } from "./turn-journal.ts";

const format = "sand-turn";
const version = 1;
/** a fixture that is read, in characters */
export const fixtureMaxChars = 256 * 1_048_576;

interface FixtureContent {
  readonly turn: TurnJournal;
  readonly parts: Readonly<Record<string, JsonValue>>;
  readonly history: readonly EarlierTurn[];
}

export function makeFixture(turn: TurnJournal, source: JournalSource): string {
  const bases = turn.records.flatMap((record) =>
    record.kind === "stepPrepared" && record.basis !== undefined ? [record.basis] : [],
  );
  const parts: Record<string, JsonValue> = {};
  for (const hash of new Set(bases.flatMap(({ system, tools }) => [system, tools]))) {
    const part = source.part(hash);
    if (part !== undefined) parts[hash] = part;
  }
  const froms = bases.flatMap(({ fromGeneration }) => fromGeneration ?? []);
  const history = froms.length === 0 ? [] : [...source.history(Math.min(...froms), turn.generation)];
  const content: FixtureContent = { turn, parts, history };
  return `${JSON.stringify({ format, version, sha256: hashOf(content), ...content }, null, 1)}\n`;
}

export interface ReadFixture {
  readonly journal: TurnJournal;
  readonly source: JournalSource;
}

export function readFixture(text: string): ReadFixture {
  if (text.length > fixtureMaxChars) throw refused("it is too long");
  const file = parse(text);
  if (file.format !== format) throw refused("it isn't the fixture of a turn");
  if (file.version !== version) {
    throw new BoxError("archive/newer-version", `the fixture has version ${String(file.version)}`, {
      hint: `this program reads version ${version}; use the newer one`,
    });
  }
  const { turn, parts, history } = file;
  if (hashOf({ turn, parts, history }) !== file.sha256) throw refused("it was changed after it was written");
  // Its hash says that it is as `makeFixture` made it; what only looks like it fails at its first record.
  const content = { turn, parts, history } as FixtureContent;
  if (!isJournal(content.turn) || !Array.isArray(content.history)) throw refused("it holds no journal");
  return {
    journal: {
      ...content.turn,
      agentId: brandId<AgentId>(content.turn.agentId),
      turnId: brandId<TurnId>(content.turn.turnId),
    },
    source: {
      part: (hash) => (Object.hasOwn(content.parts, hash) ? content.parts[hash] : undefined),
      *history(from, before) {
        for (const turn of content.history) {
          if (turn.generation >= from && turn.generation < before && readable(turn.records)) yield turn;
        }
      },
    },
  };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Told below, like any other file that isn't one of ours.
  }
  throw refused("it isn't JSON of an object");
}

function isJournal(turn: Partial<TurnJournal> | undefined): turn is TurnJournal {
  return (
    typeof turn?.agentId === "string" &&
    typeof turn.turnId === "string" &&
    typeof turn.generation === "number" &&
    Array.isArray(turn.records)
  );
}

function readable(records: readonly TurnRecord[]): boolean {
  return reduceTurnRecords(records) !== undefined;
}

function hashOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

function refused(why: string): BoxError {
  return new BoxError("archive/damaged", `the file can't be replayed: ${why}`, {
    hint: "export the turn again: sand replay <turn> --export <file>",
  });
}
