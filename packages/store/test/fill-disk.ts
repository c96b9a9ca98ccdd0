/**
 * Writes to a store until the limit on file sizes stops it, and prints what was acknowledged and what is there. Run as
 * a process of its own under such a limit.
 */
import { createLogger } from "@sand/node-kit";
import { type AgentId, BoxError, brandId } from "@sand/protocol";
import { createSeqAllocator, openAgentStore } from "../src/index.ts";

const attemptsMax = 2_000;
const root = process.argv[2] ?? "";

function open() {
  return openAgentStore({
    directory: `${root}/agents/filler`,
    agentId: brandId<AgentId>("filler"),
    seq: createSeqAllocator({ reservedThrough: 0, reserve: () => {} }),
    onCommitted: () => {},
    logger: createLogger({ name: "filler", level: "silent" }),
  });
}

const store = open();
let acknowledged = 0;
let code: string | undefined;
while (code === undefined && acknowledged < attemptsMax) {
  try {
    const key = `key-${acknowledged}`;
    await store.transact((tx) => tx.setValue(key, "x".repeat(4_000)));
    acknowledged += 1;
  } catch (error) {
    code = error instanceof BoxError ? error.code : String(error);
  }
}
// The read opens the file again.
let kept = 0;
while (store.read.getValue(`key-${kept}`) !== undefined) kept += 1;
process.stdout.write(JSON.stringify({ acknowledged, kept, code }));
await store.close();
