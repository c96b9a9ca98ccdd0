/** One turn in the middle of its replay, and what may come next in it. */
import { type Effect, nextStep, type TurnRecord, type TurnView } from "@sand/agent-core";
import type { JsonValue } from "@sand/protocol";
import type { Difference } from "@sand/store/offline";
import { asJson } from "../agents/agent-handle.ts";
import { comparable, type ExpectedRecord } from "./expected-records.ts";
import type { ReplayTools } from "./replay-tools.ts";
import type { RequestChecks } from "./request-checks.ts";
import type { TurnJournal } from "./turn-journal.ts";

export interface TurnRun {
  readonly journal: TurnJournal;
  readonly requests: RequestChecks;
  view: TurnView;
  /** what the open commit has still to say */
  expected: readonly ExpectedRecord[];
  /** the tools of the newest request; unknown in a journal that doesn't say */
  tools: ReplayTools | undefined;
}

interface Guess {
  readonly boxIsReady: boolean;
  readonly atMs: number;
}

export function propose(view: TurnView, { boxIsReady, atMs }: Guess): Effect {
  return nextStep(view, { boxIsReady, pending: [], nowMs: atMs, prepared: null });
}

export function shown(record: TurnRecord): JsonValue {
  const said = comparable(record);
  return said === undefined ? record.kind : asJson(said);
}

export function differs(
  rule: Difference["rule"],
  what: string,
  recorded: JsonValue,
  replayed: JsonValue,
): Difference {
  return { rule, what, recorded, replayed };
}
