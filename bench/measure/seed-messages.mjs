/**
 * Fills agents' stores with messages of words that are spread as in a language: few are common, most are rare. The same
 * number gives the same words.
 */
import { join } from "node:path";
import { createLogger } from "../../packages/node-kit/src/index.ts";
import { createSeqAllocator, openAgentStore } from "../../packages/store/src/index.ts";

/** different words */
const vocabulary = 200_000;
const perCommit = 1_000;
const letters = "etaoinshrdlucmfwypvbgkqjxz";

/** the word of a rank: 0 is the most common one */
export function wordOf(rank) {
  let text = "";
  for (let left = rank + 1; left > 0; left = Math.floor(left / 26)) text += letters[(left * 7) % 26];
  return text + "ation".slice(0, rank % 6);
}

export const ranks = { common: [0, 20], middling: [500, 1_500], rare: [100_000, vocabulary] };

/** whole numbers below 2^32, the same for the same seed */
export function createNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
}

/** `firstSeq` must be above what the data root has given out. */
export async function seedMessages({ dataRoot, agentIds, messages, firstSeq, report }) {
  const next = createNumbers(7);
  const rank = () => Math.floor(Math.exp((next() / 2 ** 32) * Math.log(vocabulary))) - 1;
  const seq = createSeqAllocator({ reservedThrough: firstSeq, reserve: () => {} });
  const logger = createLogger({ name: "bench", level: "silent", write: () => {} });
  const each = messages / agentIds.length;
  for (const [at, agentId] of agentIds.entries()) {
    const directory = join(dataRoot, "agents", agentId);
    const store = openAgentStore({ directory, agentId, seq, onCommitted: () => {}, logger });
    for (let from = 0; from < each; from += perCommit) {
      await store.transact((tx) => {
        for (let one = from; one < Math.min(from + perCommit, each); one += 1) {
          const words = Array.from({ length: 8 + ((next() >>> 16) % 40) }, () => wordOf(rank()));
          tx.appendEntry({
            kind: "message",
            id: `${agentId}-${one}`,
            role: one % 2 === 0 ? "user" : "assistant",
            content: words.join(" "),
            timestampMs: 1_700_000_000_000 + one * 60_000 + at,
          });
        }
      });
    }
    await store.close();
    report(`${(at + 1) * each} messages are stored`);
  }
}
