/**
 * Compares what an agent's store says after a power cut with what was promised before it, and with how its history went
 * on in the run that was recorded: the store must hold a beginning of that history that reaches as far as the promises.
 */
import type { AgentView } from "./agent-view.ts";

export interface Expected {
  /** nonces of prompts whose acceptance was answered */
  readonly nonces: ReadonlySet<string>;
  /** the highest event of this agent that was sent to a client */
  readonly sentSeq: number;
}

/** Sentences, one for each breach. */
export function judgeView(seen: AgentView, truth: AgentView, expected: Expected): readonly string[] {
  return [
    ...[...expected.nonces]
      .filter((nonce) => !seen.prompts.has(nonce))
      .map((nonce) => `lost: the accepted prompt ${nonce}`),
    ...findLostEvents(seen, truth, expected.sentSeq),
    ...[...seen.events]
      .filter(([seq, event]) => truth.events.get(seq) !== event)
      .map(([seq]) => `invented: event ${seq}`),
    ...[...seen.prompts]
      .filter(([nonce, row]) => truth.prompts.get(nonce) !== row)
      .map(([nonce]) => `invented: prompt ${nonce}`),
    ...[...seen.entryIds].filter((id) => !truth.entryIds.has(id)).map((id) => `invented: entry ${id}`),
    ...[...seen.turns].flatMap(([turnId, records]) => findInventedRecords(turnId, records, truth)),
  ];
}

/** Commits come in order, so below the newest event none is missing. */
function findLostEvents(seen: AgentView, truth: AgentView, sentSeq: number): readonly string[] {
  const through = Math.max(sentSeq, ...seen.events.keys());
  return [...truth.events.keys()]
    .filter((seq) => seq <= through && !seen.events.has(seq))
    .map((seq) => `lost: event ${seq}, although ${seq <= sentSeq ? "it was sent" : "a later one is there"}`);
}

function findInventedRecords(
  turnId: string,
  records: readonly string[],
  truth: AgentView,
): readonly string[] {
  const later = truth.turns.get(turnId);
  if (later === undefined) return [`invented: turn ${turnId}`];
  return records.flatMap((record, at) =>
    later[at] === record ? [] : [`invented: record ${at} of turn ${turnId}`],
  );
}
