import { setImmediate } from "node:timers/promises";
import { createLogger } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { expect, test } from "vitest";
import type { RecoveryReport } from "./recovery-report.ts";
import { createStoreRepairs } from "./store-repairs.ts";

const logger = createLogger({ name: "test", level: "error", write() {} });
const path = "/data/ada/store.db";
const agentId = brandId<AgentId>("ada");
const request = { path, agentId, reason: "test" };
const none = { kept: 0, damaged: 0, lostPages: 0, unchecked: 0 };
const report: RecoveryReport = {
  ...{ version: 1, agentId, atMs: 1, reason: "test", quarantine: "aside", hashes: {}, damagedFrames: 0 },
  tables: {
    kv: none,
    transcript_entries: none,
    prompts: none,
    turns: none,
    turn_records: none,
    set_aside: none,
  },
  ...{ lostEntries: [], lostEntryCount: 0, lostPrompts: [], lostPromptCount: 0 },
  ...{ mayHaveLostMore: false, settledTurns: [] },
};

test("a repair ends when what follows it has ended; the store may be opened before that", async () => {
  const seen: string[] = [];
  const { promise: takenUp, resolve: takeUp } = Promise.withResolvers<void>();
  const { promise: repaired, resolve: tellRepaired } = Promise.withResolvers<void>();
  const repairs = createStoreRepairs({
    run: async () => report,
    logger,
    async onRepaired() {
      tellRepaired();
      await takenUp;
      seen.push("taken up");
    },
    onFailed() {},
  });
  expect(repairs.ending(path)).toBeUndefined();
  expect(repairs.begin(request).code).toBe("store/unavailable");
  const ended = Promise.all([repairs.ending(path), repairs.settled()]).then(() => seen.push("ended"));
  await repaired;
  // All that doesn't wait for `takenUp` is done by then.
  await setImmediate();
  expect(seen).toEqual([]);
  expect(repairs.refusal(path)).toBeUndefined();
  takeUp();
  await ended;
  expect(seen).toEqual(["taken up", "ended"]);
  expect(repairs.ending(path)).toBeUndefined();
});

test("a repair that fails ends as well, and leaves the reason", async () => {
  const repairs = createStoreRepairs({
    run: () => Promise.reject(new Error("nothing can be read")),
    logger,
    onRepaired() {},
    onFailed() {},
  });
  repairs.begin(request);
  await repairs.ending(path);
  expect(repairs.refusal(path)?.code).toBe("store/damaged");
});
