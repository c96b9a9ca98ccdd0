/**
 * Fills an agent's store with settled turns, through the store's own port. The newest turns are large, so that a
 * request's window is full whatever lies behind them.
 */
import { join } from "node:path";
import { createLogger } from "../../packages/node-kit/src/index.ts";
import { createSeqAllocator, openAgentStore } from "../../packages/store/src/index.ts";

const provenance = { origin: "user", trust: "trusted", lineage: [] };
const usage = {
  inputTokens: 1,
  outputTokens: 1,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};
/** turns whose changes are asked for at once */
const turnsPerGroup = 200;

/** Each turn is two entries. `firstSeq` must be above what the data root has given out. Returns the last `seq`. */
export async function seedHistory({ dataRoot, agentId, entries, largeChars, largeTurns, firstSeq }) {
  let reserved = firstSeq;
  const seq = createSeqAllocator({
    reservedThrough: firstSeq,
    reserve: (through) => {
      reserved = through;
    },
  });
  const logger = createLogger({ name: "bench", level: "silent", write: () => {} });
  const directory = join(dataRoot, "agents", agentId);
  const store = openAgentStore({ directory, agentId, seq, onCommitted: () => {}, logger });
  const turns = entries / 2;
  for (let from = 1; from <= turns; from += turnsPerGroup) {
    const last = Math.min(turns, from + turnsPerGroup - 1);
    const group = [];
    for (let turn = from; turn <= last; turn += 1) {
      const chars = turn > turns - largeTurns ? largeChars : 100;
      group.push(store.transact((tx) => addTurn(tx, `${agentId}-${turn}`, turn, chars)));
    }
    await Promise.all(group);
  }
  await store.close();
  return reserved;
}

function addTurn(tx, name, generation, chars) {
  const atMs = 1_700_000_000_000 + generation;
  const text = `an answer of some length: ${"word ".repeat(Math.ceil(chars / 5))}`;
  const turnId = `turn-${name}`;
  const prompt = {
    promptId: `p-${name}`,
    entryId: `prompt-${name}`,
    nonce: `seed-${name}`,
    text: "a question",
  };
  const fence = { turnId, generation };
  tx.appendEntry({
    kind: "message",
    id: prompt.entryId,
    role: "user",
    content: prompt.text,
    timestampMs: atMs,
  });
  tx.insertPrompt({
    ...prompt,
    digest: "d".repeat(64),
    whenBusy: "queue",
    provenance,
    acceptedAtMs: atMs,
    turnId: null,
  });
  // The host counts its turns under this key.
  tx.setValue("generation", generation);
  tx.insertTurn({ turnId, generation, state: "open", outcome: null, startedAtMs: atMs, settledAtMs: null });
  tx.deliverPrompt(prompt.promptId, turnId);
  const records = [
    { kind: "turnStarted", turnId, generation, atMs, provenance },
    { kind: "promptDelivered", prompt: { ...prompt, provenance }, beforeStep: 1, atMs },
    {
      kind: "stepPrepared",
      step: 1,
      attempt: 1,
      requestId: `request-${name}`,
      requestHash: "h".repeat(64),
      atMs,
    },
    {
      kind: "stepCompleted",
      step: 1,
      attempt: 1,
      finish: "stop",
      text,
      answerEntryId: `answer-${name}`,
      calls: [],
      usage,
      provider: "openai-compatible",
      model: "scripted",
      rawParts: [],
      atMs,
    },
    { kind: "turnSettled", outcome: "success", code: null, reason: null, atMs },
  ];
  for (const record of records) tx.appendRecord(fence, record);
  tx.appendEntry({
    kind: "message",
    id: `answer-${name}`,
    role: "assistant",
    content: text,
    timestampMs: atMs,
  });
  tx.settleTurn(fence, "success", atMs);
}
