/**
 * The outline of a conversation (contract gateway §4.4): its newest entries, and between them what the steps said
 * that is no entry of its own, which is the text beside tool calls and the thinking.
 */
import type { AgentReads, StoredEntry, TurnRecord, TurnRow } from "@sand/agent-core";
import { type JsonObject, limits, type OutlineItem } from "@sand/protocol";

type Step = Extract<TurnRecord, { readonly kind: "stepCompleted" }>;

type OutlineReads = Pick<AgentReads, "entriesBefore" | "openTurn" | "settledTurns" | "recordsOfKind">;

/** turns whose steps are read at once */
const turnsPerRead = 50;

export function readOutline(reads: OutlineReads): OutlineItem[] {
  const { entries } = reads.entriesBefore({ limit: limits.outlineMaxEntries });
  const said = new Map<string, readonly OutlineItem[]>();
  for (const turn of turnsSince(reads, entries)) {
    for (const step of reads.recordsOfKind(turn.turnId, "stepCompleted")) {
      // What a step said stands before the first entry that it made.
      const place = step.calls[0]?.entryId ?? step.answerEntryId;
      if (place !== null) said.set(place, saidBeside(turn, step));
    }
  }
  return entries.flatMap(({ entry }) => [...(said.get(entry.id) ?? []), ...itemOf({ entry })]);
}

/** The turns that can have made one of the entries, newest first. Each turn has an entry, so these are no more. */
function* turnsSince(reads: OutlineReads, entries: readonly StoredEntry[]): Generator<TurnRow> {
  const sinceMs = entries[0]?.entry.timestampMs;
  if (sinceMs === undefined) return;
  const open = reads.openTurn();
  if (open !== undefined) yield open;
  let beforeGeneration = Number.MAX_SAFE_INTEGER;
  for (let seen = 0; seen < entries.length; seen += turnsPerRead) {
    const turns = reads.settledTurns({ limit: turnsPerRead, beforeGeneration });
    for (const turn of turns) {
      if ((turn.settledAtMs ?? turn.startedAtMs) < sinceMs) return;
      yield turn;
    }
    const oldest = turns.at(-1);
    if (oldest === undefined || turns.length < turnsPerRead) return;
    beforeGeneration = oldest.generation;
  }
}

function saidBeside({ turnId }: TurnRow, step: Step): readonly OutlineItem[] {
  const id = `${turnId}.s${step.step}`;
  const thought = step.rawParts.map(thoughtOf).join("");
  const durationMs = step.reasoningMs ?? 0;
  return [
    ...(durationMs > 0 && thought !== ""
      ? [{ kind: "thinking" as const, id: `${id}.thinking`, text: thought, durationMs }]
      : []),
    ...(step.calls.length > 0 && step.text !== ""
      ? [{ kind: "assistant-text" as const, id: `${id}.text`, text: step.text }]
      : []),
  ];
}

function thoughtOf(part: JsonObject): string {
  return part.type === "reasoning" && typeof part.text === "string" ? part.text : "";
}

function itemOf({ entry }: Pick<StoredEntry, "entry">): readonly OutlineItem[] {
  switch (entry.kind) {
    case "message":
      return entry.role === "user"
        ? [{ kind: "user", id: entry.id, text: entry.content }]
        : [{ kind: "assistant-text", id: entry.id, text: entry.content }];
    case "send-message":
      return [{ kind: "send-message", id: entry.id, message: entry.message, timestampMs: entry.timestampMs }];
    case "tool-call":
      return [
        { kind: "tool-call", id: entry.id, name: entry.name, status: entry.status, summary: entry.summary },
      ];
    case "notice":
      return [];
  }
}
