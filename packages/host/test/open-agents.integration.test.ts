/** What meets the end of the host: an agent that is just being opened, and those that would be opened behind it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { openAgentStore, openHostIndex } from "@sand/store";
import { createTempFolder } from "@sand/testkit";
import { expect, test } from "vitest";
import { createOpenAgents, type OpenAgents } from "../src/agents/open-agents.ts";
import { createRepairDesk } from "../src/recovery/repair-desk.ts";

const logger = createLogger({ name: "test", level: "error", write() {} });
const [ada, bob] = [brandId<AgentId>("ada"), brandId<AgentId>("bob")];

/** Agents over a fresh data root, whose stores open when `letOpen` is called. */
async function openGated() {
  const folder = await createTempFolder("open-agents");
  const dataRoot = folder.path;
  for (const agentId of [ada, bob]) {
    mkdirSync(join(dataRoot, "agents", agentId), { recursive: true });
    writeFileSync(join(dataRoot, "agents", agentId, "profile.json"), "{}");
  }
  const index = openHostIndex({ root: dataRoot, onCommitted() {}, clock: systemClock, logger });
  const { promise: gate, resolve: letOpen } = Promise.withResolvers<void>();
  const healthy: (() => boolean)[] = [];
  const open = createOpenAgents({
    ...{ dataRoot, index, activeAgentId: () => null },
    async openStore(agentId, directory) {
      const store = openAgentStore({ directory, agentId, seq: index.seq, onCommitted() {}, logger });
      healthy.push(() => store.healthy);
      await gate;
      return store;
    },
  });
  return {
    ...{ dataRoot, open, letOpen },
    /** of each store that was ever opened, whether it still is */
    areOpen: () => healthy.map((isHealthy) => isHealthy()),
    async [Symbol.asyncDispose]() {
      await open.closeAll();
      await index.close();
      await folder.remove();
    },
  };
}

const refused = { code: "host/shutting-down" };

test("an agent whose opening meets the end of the host is closed again before that end", async () => {
  await using agents = await openGated();
  const opening = agents.open.open(ada);
  const refusal = expect(opening).rejects.toMatchObject(refused);
  const closing = agents.open.closeAll();
  agents.letOpen();
  await closing;
  expect(agents.areOpen()).toEqual([false]);
  await refusal;
  expect(agents.open.peek(ada)).toBeUndefined();
});

test("an agent isn't opened any more once all are closed", async () => {
  await using agents = await openGated();
  agents.letOpen();
  await agents.open.open(ada);
  await agents.open.closeAll();
  await expect(agents.open.open(ada)).rejects.toMatchObject(refused);
  await expect(agents.open.open(bob)).rejects.toMatchObject(refused);
  expect(agents.areOpen()).toEqual([false]);
});

test("agents without a row are looked at one by one until the host ends, and only where there is a store", async () => {
  await using folder = await createTempFolder("unlisted");
  for (const agentId of ["a", "b", "c", "listed", "no-store"]) {
    mkdirSync(join(folder.path, "agents", agentId), { recursive: true });
    writeFileSync(join(folder.path, "agents", agentId, "profile.json"), "{}");
    if (agentId !== "no-store") writeFileSync(join(folder.path, "agents", agentId, "store.db"), "x");
  }
  const desk = createRepairDesk({
    ...{ dataRoot: folder.path, entry: "none", clock: systemClock, logger, lastSeq: () => 0 },
  });
  const end = new AbortController();
  const asked: string[] = [];
  let endAfter = Number.POSITIVE_INFINITY;
  const open: OpenAgents["open"] = (agentId) => {
    asked.push(agentId);
    if (asked.length >= endAfter) end.abort();
    return Promise.reject(new Error("not now"));
  };
  const none = async (): Promise<void> => {};
  desk.serve({ open: { open, peek: () => undefined, close: none, closeAll: none }, wake() {} });
  await desk.openUnlisted(new Set([brandId<AgentId>("listed")]), end.signal);
  expect(asked.sort()).toEqual(["a", "b", "c"]);
  asked.length = 0;
  endAfter = 2;
  await desk.openUnlisted(new Set([brandId<AgentId>("listed")]), end.signal);
  expect(asked).toHaveLength(2);
});
