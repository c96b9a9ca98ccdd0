/**
 * Accepts prompts in a loop, several at once, and prints each acknowledged one on a line of its own. The parent kills
 * it. Lines are written synchronously, so that what the parent has read was acknowledged.
 */
import { writeSync } from "node:fs";
import { createLogger, systemClock } from "@sand/node-kit";
import { type AgentId, brandId, type ClientNonce } from "@sand/protocol";
import { acquireHostLock, openAgentStore, openHostIndex } from "../src/index.ts";
import { message, promptRow } from "./store-rig.ts";

const [root = "", round = "0"] = process.argv.slice(2);
const inFlight = 8;
const logger = createLogger({ name: "writer", level: "error" });
const lock = acquireHostLock({ root, pid: process.pid });
const index = openHostIndex({ root, onCommitted: () => {}, clock: systemClock, logger });
const agents = ["ada", "bob"].map((name) => {
  const agentId = brandId<AgentId>(name);
  const directory = `${root}/agents/${name}`;
  return {
    agentId,
    store: openAgentStore({ directory, agentId, seq: index.seq, onCommitted: () => {}, logger }),
  };
});

async function accept(number: number): Promise<void> {
  const agent = agents[number % agents.length];
  if (agent === undefined) return;
  const { agentId, store } = agent;
  const nonce = `r${round}-${number}`;
  index.claimNonce(brandId<ClientNonce>(nonce), agentId);
  index.markOpenTurn(agentId);
  const { value: seq } = await store.transact((tx) => {
    tx.setValue("summary", { name: agentId });
    tx.insertPrompt(promptRow(nonce));
    return tx.appendEntry(message(`entry-${nonce}`));
  });
  index.putAgent({ agentId, summary: { name: agentId }, lastSeq: seq, hasOpenTurn: true });
  writeSync(1, `${agentId} ${nonce} ${seq}\n`);
}

async function lane(first: number): Promise<never> {
  for (let number = first; ; number += inFlight) await accept(number);
}

writeSync(1, `ready ${lock.outcome}\n`);
await Promise.all(Array.from({ length: inFlight }, (_, first) => lane(first)));
