/** Reads the journals of a sweep: which calls were made, intended and settled, and which prompts were delivered. */
import type { RecordEvidence, SweepEvidence, TurnEvidence } from "./sweep-evidence.ts";

export interface JournalCall {
  readonly callId: string;
  readonly argsText: string;
}

export function callsOf(turn: TurnEvidence): readonly JournalCall[] {
  return turn.records
    .filter((record) => record.kind === "stepCompleted")
    .flatMap((record) => listOf(record.body.calls))
    .map(objectOf)
    .map((call) => ({ callId: String(call.callId), argsText: String(call.argsText) }));
}

export interface JournalResult {
  readonly callId: string;
  readonly outcome: string;
  readonly text: string;
}

export function resultsOf(turn: TurnEvidence): readonly JournalResult[] {
  return turn.records
    .filter((record) => record.kind === "toolSettled")
    .map((record) => objectOf(record.body.result))
    .map((result) => ({
      callId: String(result.callId),
      outcome: String(result.outcome),
      text: String(result.text).slice(0, 200),
    }));
}

export function settledCalls(
  evidence: SweepEvidence,
): readonly { readonly settled: JournalResult; readonly effect: string }[] {
  return allTurns(evidence).flatMap((turn) => {
    const calls = new Map(callsOf(turn).map((call) => [call.callId, call]));
    return resultsOf(turn).flatMap((settled) => {
      const effect = effectIn(calls.get(settled.callId)?.argsText ?? "");
      return effect === undefined ? [] : [{ settled, effect }];
    });
  });
}

export function intendedEffects(evidence: SweepEvidence): readonly string[] {
  return allTurns(evidence).flatMap((turn) => {
    const intended = new Set(
      turn.records
        .filter((record) => record.kind === "toolIntended")
        .map((record) => String(record.body.callId)),
    );
    return callsOf(turn).flatMap((call) =>
      intended.has(call.callId) ? (effectIn(call.argsText) ?? []) : [],
    );
  });
}

export function effectIn(argsText: string): string | undefined {
  return /effect-[a-z0-9-]+/u.exec(argsText)?.[0];
}

export function isDelivery(record: RecordEvidence): boolean {
  return record.kind === "promptDelivered";
}

export function promptIdOf(record: RecordEvidence): string {
  return String(objectOf(record.body.prompt).promptId);
}

export function answerText(entry: Readonly<Record<string, unknown>>): string {
  return String(objectOf(entry.message).content);
}

export function allTurns(evidence: SweepEvidence): readonly TurnEvidence[] {
  return evidence.agents.flatMap((agent) => agent.turns);
}

export function countBy(items: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
