/**
 * Accepts large prompts in a loop and prints each acknowledged one. Some changes fail on purpose, so that payloads are
 * left that nothing names, and the collector runs in between. It dies at a failpoint, or its parent kills it.
 */
import { writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLogger } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { createAgentWorkerPool, createSeqAllocator, openAgentStore } from "../src/index.ts";
import { message, promptRow } from "./store-rig.ts";

const [root = "", round = "0", firstSeq = "0", failpoint = ""] = process.argv.slice(2);
const logger = createLogger({ name: "writer", level: "error" });
const blobWorkers = createAgentWorkerPool({
  entry: fileURLToPath(new URL("./blob-thread-with-failpoints.ts", import.meta.url)),
  dataRoot: root,
  logger,
  ...(failpoint === "" ? {} : { failpoint }),
});
const store = openAgentStore({
  directory: `${root}/agents/ada`,
  agentId: brandId<AgentId>("ada"),
  seq: createSeqAllocator({ reservedThrough: Number(firstSeq), reserve: () => undefined }),
  onCommitted: () => undefined,
  logger,
  blobWorkers,
});

/** every fifth text is one that an earlier change left behind, or that is on its way beside this one */
const textOf = (number: number): string =>
  `${number % 5 === 4 ? "again" : `${round}-${number}`} and on `.repeat(8_000);

async function accept(number: number): Promise<void> {
  const nonce = `r${round}-${number}`;
  const isFailing = number % 3 === 2;
  const change = store.transact((tx) => {
    tx.insertPrompt(promptRow(nonce, { text: textOf(number) }));
    tx.appendEntry(message(`entry-${nonce}`));
    if (isFailing) throw new Error("on purpose");
  });
  if (isFailing) await change.catch(() => undefined);
  else {
    await change;
    writeSync(1, `${nonce} ${number}\n`);
  }
  if (number % 4 === 3) await store.settlePayloads();
}

async function lane(first: number): Promise<never> {
  for (let number = first; ; number += 3) await accept(number);
}

writeSync(1, "ready 0\n");
await Promise.all([lane(0), lane(1), lane(2)]);
