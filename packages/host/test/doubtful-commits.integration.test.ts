/** A commit that is reported as failed and is on disk all the same: what the host knows of the turn comes from there. */
import type { AgentStore } from "@sand/agent-core";
import { createLogger, systemClock } from "@sand/node-kit";
import {
  type AgentId,
  BoxError,
  brandId,
  type ClientNonce,
  type EntryId,
  type PromptId,
  type TurnId,
} from "@sand/protocol";
import { openAgentStore, openHostIndex } from "@sand/store";
import { createTempFolder } from "@sand/testkit";
import { expect, test } from "vitest";
import { createAgentHandle } from "../src/agents/agent-handle.ts";
import { openTurn } from "../src/turns/open-turn.ts";

const agentId = brandId<AgentId>("ann");
const turnId = brandId<TurnId>("turn-1");

/** Commits once and says that it failed, as a disk does that loses only its answer. */
function loseOneAnswer(store: AgentStore): AgentStore {
  let isLost = false;
  return {
    ...store,
    healthy: true,
    async transact(change) {
      const committed = await store.transact(change);
      if (isLost) return committed;
      isLost = true;
      throw new BoxError("store/unavailable", "the answer is lost");
    },
  };
}

test("a turn that was opened by a commit without an answer is found, and later changes build on it", async () => {
  await using folder = await createTempFolder("doubtful");
  const logger = createLogger({ name: "test", level: "silent" });
  const onCommitted = () => {};
  await using index = openHostIndex({ root: folder.path, onCommitted, clock: systemClock, logger });
  const directory = `${folder.path}/agents/ann`;
  await using store = openAgentStore({ directory, agentId, seq: index.seq, onCommitted, logger });
  const handle = createAgentHandle(
    { index, activeAgentId: () => null },
    { agentId, folder: directory, store: loseOneAnswer(store) },
  );
  const prompt = {
    promptId: brandId<PromptId>("p-1"),
    nonce: brandId<ClientNonce>("n-1"),
    digest: "digest",
    entryId: brandId<EntryId>("prompt-p-1"),
    text: "hi",
    whenBusy: "steer",
    provenance: { origin: "user", trust: "trusted", lineage: [] },
    acceptedAtMs: 1,
    turnId: null,
  } as const;
  const opening = handle.commit((tx) => {
    tx.insertPrompt(prompt);
    openTurn(tx, { prompt, turnId, atMs: 1 });
  });
  await expect(opening).rejects.toMatchObject({ code: "store/unavailable" });
  expect(handle.turn()?.turnId).toBe(turnId);
  await handle.commit((tx) => tx.rosterChanged());
  expect(handle.turn()?.turnId).toBe(turnId);
});
