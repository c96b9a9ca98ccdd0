/**
 * The rows of an agent for an archive. What is under way is ended in it, or two hosts would go on with it: an open turn
 * stops where it is, with its begun calls as unknown, and prompts that wait stay behind.
 */
import { reduceTurnRecords, type TurnRecord, type TurnRow, unsettledCalls } from "@sand/agent-core";
import { BoxError, brandId, type ClientNonce, type TranscriptEntry } from "@sand/protocol";
import type { AgentReading } from "./agent-reading.ts";
import { type ArchiveRow, importedNonce, localKeys } from "./archive-content.ts";

export function* archiveRows(reading: AgentReading): Generator<ArchiveRow> {
  const { read } = reading;
  for (const key of reading.valueKeys()) {
    const value = localKeys.has(key) ? undefined : read.getValue(key);
    if (value !== undefined) yield { value: [key, value] };
  }
  for (const nonce of reading.nonces()) {
    const prompt = read.findPrompt(nonce);
    if (prompt !== undefined) yield { prompt: { ...prompt, nonce: ownNonce(nonce) } };
  }
  for (const turn of reading.turns(0)) yield* rowsOfTurn(turn, read.records(turn.turnId));
  for (const id of reading.entryIds()) {
    const stored = read.findEntry(id);
    if (stored !== undefined) yield { entry: ended(stored.entry) };
  }
}

/** as it was where it was accepted */
function ownNonce(nonce: ClientNonce): ClientNonce {
  return brandId<ClientNonce>(importedNonce.exec(nonce)?.[1] ?? nonce);
}

function* rowsOfTurn(turn: TurnRow, records: readonly TurnRecord[]): Generator<ArchiveRow> {
  const all = turn.state === "settled" ? records : [...records, ...endOf(records)];
  const last = all.at(-1);
  if (last?.kind !== "turnSettled")
    throw new BoxError("store/damaged", "a turn has no end", { details: { turnId: turn.turnId } });
  const { outcome } = last;
  const settledAtMs = turn.settledAtMs ?? last.atMs;
  yield { turn: { ...turn, state: "settled", outcome, settledAtMs } };
  for (const record of all) yield { record };
}

function endOf(records: readonly TurnRecord[]): readonly TurnRecord[] {
  const view = reduceTurnRecords(records);
  const atMs = records.at(-1)?.atMs ?? 0;
  const calls = view === undefined ? [] : unsettledCalls(view);
  const left = calls.map(({ call, intent }): TurnRecord => {
    const outcome = intent === null ? "interrupted" : "unknown";
    const text =
      intent === null
        ? "The agent was exported before this call was run."
        : "The agent was exported while this call was under way; whether it took effect is not known.";
    return {
      kind: "toolSettled",
      result: { callId: call.callId, outcome, text, outputHandle: null, details: {} },
      atMs,
    };
  });
  const reason = "the agent was exported while this turn was open";
  return [...left, { kind: "turnSettled", outcome: "quiesced", code: null, reason, atMs }];
}

function ended(entry: TranscriptEntry): TranscriptEntry {
  const isUnderWay = entry.kind === "tool-call" && (entry.status === "pending" || entry.status === "running");
  return isUnderWay ? { ...entry, status: "unknown" } : entry;
}
