/**
 * Builds the requests of turns again and compares their hashes with the recorded ones.
 *
 * Turns that are replayed in their order share what they have in common: the history before a turn is hashed once, and
 * gone on from as long as its window begins at the same turn.
 */
import { reduceTurnRecords, type TurnRecord, type TurnView } from "@sand/agent-core";
import type { JsonValue } from "@sand/protocol";
import type { Difference } from "@sand/store/offline";
import { hashPart } from "../turns/request-basis.ts";
import { createRequestDigest, type RequestDigest } from "./request-digest.ts";
import type { JournalSource } from "./turn-journal.ts";

type StepPrepared = Extract<TurnRecord, { kind: "stepPrepared" }>;

/** turns that are held for the windows of those behind them */
const recentMax = 512;

/** Turns are to be given in their order, without one left out between two. */
export interface RequestChecks {
  /** a turn's replay begins */
  begin(): void;
  check(
    view: TurnView,
    record: StepPrepared,
  ): { readonly difference: Difference | null; readonly tools: JsonValue | undefined };
  end(view: TurnView): void;
  /** of the turn that began last */
  checked(): number;
  unchecked(): number;
}

interface Kept {
  readonly digest: RequestDigest;
  readonly system: string;
  readonly from: number | null;
  /** the newest turn in it */
  through: number;
}

interface KeptTools {
  readonly text: string;
  readonly value: JsonValue;
}

export function createRequestChecks(source: JournalSource): RequestChecks {
  const tools = new Map<string, KeptTools | null>();
  const systems = new Map<string, string | null>();
  let kept: Kept | undefined;
  /** the turns before this one without a gap, oldest first */
  let recent: TurnView[] = [];
  let isMidway = false;
  let checked = 0;
  let unchecked = 0;

  function toolsOf(hash: string): KeptTools | null {
    let found = tools.get(hash);
    if (found !== undefined) return found;
    const value = source.part(hash);
    found = value !== undefined && hashPart(value) === hash ? { value, text: JSON.stringify(value) } : null;
    tools.set(hash, found);
    return found;
  }

  function systemOf(hash: string): string | null {
    let found = systems.get(hash);
    if (found !== undefined) return found;
    const value = source.part(hash);
    found = typeof value === "string" && hashPart(value) === hash ? value : null;
    systems.set(hash, found);
    return found;
  }

  /** From what was replayed right before, where that reaches far enough. */
  function turnsBetween(from: number, before: number): readonly TurnView[] {
    const first = recent[0];
    if (first !== undefined && first.generation <= from)
      return recent.filter(({ generation }) => generation >= from && generation < before);
    return [...source.history(from, before)].flatMap(({ records }) => reduceTurnRecords(records) ?? []);
  }

  /** The history before the turn, and of the turn itself what earlier requests had. */
  function digestOf(view: TurnView, from: number | null, systemHash: string, system: string): RequestDigest {
    const fits = kept?.system === systemHash && kept.from === from;
    if (fits && kept?.through === view.generation) return kept.digest;
    // A request without a history begins anew, whatever came before.
    if (!fits || from === null || kept === undefined || kept.through > view.generation)
      kept = {
        digest: createRequestDigest(system),
        system: systemHash,
        from,
        through: (from ?? view.generation) - 1,
      };
    const oldest = from === null ? view.generation : kept.through + 1;
    for (const turn of turnsBetween(oldest, view.generation)) kept.digest.addTurn(turn);
    kept.through = view.generation;
    return kept.digest;
  }

  return {
    begin() {
      checked = 0;
      unchecked = 0;
      // One that broke off in the middle of a turn isn't gone on from.
      if (isMidway) kept = undefined;
      if (isMidway) recent = [];
      isMidway = true;
    },
    check(view, { basis, requestHash }) {
      if (basis === undefined) {
        unchecked += 1;
        return { difference: null, tools: undefined };
      }
      const offered = toolsOf(basis.tools);
      const system = systemOf(basis.system);
      if (offered === null || system === null) {
        const hash = offered === null ? basis.tools : basis.system;
        return { difference: lostPart(hash), tools: undefined };
      }
      const { hash, messages } = digestOf(view, basis.fromGeneration, basis.system, system).ofNextStep(
        view,
        offered.text,
      );
      const difference: Difference | null =
        hash === requestHash
          ? null
          : {
              rule: "request",
              what: "the request has another content",
              recorded: { hash: requestHash, messages: basis.messages },
              replayed: { hash, messages },
            };
      checked += 1;
      return { difference, tools: offered.value };
    },
    end(view) {
      if (kept?.through === view.generation) kept.digest.finishTurn(view);
      isMidway = false;
      recent.push(view);
      if (recent.length > recentMax) recent = recent.slice(-recentMax / 2);
    },
    checked: () => checked,
    unchecked: () => unchecked,
  };
}

function lostPart(hash: string): Difference {
  const what = "what the request was built from isn't kept, or isn't what was kept";
  return { rule: "request", what, recorded: hash, replayed: null };
}
