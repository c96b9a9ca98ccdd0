/**
 * Stores large payloads until the limit on file sizes stops it and says so; when its parent has lifted the limit and says
 * so in turn, it goes on, and tells what it found. Run as a process of its own under such a limit.
 */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createLogger, systemClock } from "@sand/node-kit";
import { type AgentId, BoxError, brandId } from "@sand/protocol";
import { createAgentWorkerPool, createSeqAllocator, openAgentStore } from "../src/index.ts";
import { promptRow } from "./store-rig.ts";

const root = process.argv[2] ?? "";
const logger = createLogger({ name: "filler", level: "silent" });
const blobWorkers = createAgentWorkerPool({
  entry: fileURLToPath(new URL("../src/blobs/blob-thread.ts", import.meta.url)),
  dataRoot: root,
  logger,
});
const store = openAgentStore({
  directory: `${root}/agents/filler`,
  agentId: brandId<AgentId>("filler"),
  seq: createSeqAllocator({ reservedThrough: 0, reserve: () => undefined }),
  onCommitted: () => undefined,
  logger,
  blobWorkers,
});

const textOf = (number: number): string => `${number} and on `.repeat(30_000);
const accept = (number: number) =>
  store.transact((tx) => tx.insertPrompt(promptRow(`n${number}`, { text: textOf(number) })));

async function acceptUntilRefused(): Promise<{ readonly acknowledged: number; readonly code: string }> {
  for (let number = 0; ; number += 1) {
    try {
      await accept(number);
    } catch (error) {
      return { acknowledged: number, code: error instanceof BoxError ? error.code : String(error) };
    }
  }
}

/** What a client does that was told to try again. */
async function acceptInTheEnd(number: number): Promise<void> {
  for (;;) {
    try {
      await accept(number);
      return;
    } catch {
      await systemClock.sleep(100);
    }
  }
}

const { acknowledged, code } = await acceptUntilRefused();
const small = await store.transact((tx) => tx.setValue("small", true)).then(() => "stored");
process.stdout.write(`${JSON.stringify({ acknowledged, code, small })}\n`);
await once(process.stdin, "data");
await acceptInTheEnd(acknowledged);
let kept = 0;
while (store.read.findPrompt(brandId(`n${kept}`))?.text === textOf(kept)) kept += 1;
process.stdout.write(`${JSON.stringify({ kept })}\n`);
await store.close();
await blobWorkers.close();
process.exit(0);
