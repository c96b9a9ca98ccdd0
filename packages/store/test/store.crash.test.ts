import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "@sand/node-kit";
import { brandId, type ClientNonce, type EntryId } from "@sand/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStoreRig, type StoreRig } from "./store-rig.ts";

const rounds = 20;
/** no round begins later than this, in `ms`: a busy machine gets fewer rounds, not a failure */
const beginMaxMs = 80_000;
const writerScript = fileURLToPath(new URL("./write-until-killed.ts", import.meta.url));

interface Acknowledged {
  readonly agentId: string;
  readonly nonce: string;
  readonly seq: number;
}

let rig: StoreRig;

beforeEach(() => {
  rig = createStoreRig();
});

afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

/** Lets a writer run until it has acknowledged `after` prompts, kills it a moment later, and returns all it said. */
async function killWriter(round: number, after: number, delayMs: number): Promise<readonly Acknowledged[]> {
  const child = spawn(process.execPath, [writerScript, rig.root, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [agentId = "", nonce = "", seq = ""] = line.split(" ");
    if (agentId !== "ready") acknowledged.push({ agentId, nonce, seq: Number(seq) });
    if (acknowledged.length === after) void systemClock.sleep(delayMs).then(() => child.kill("SIGKILL"));
  }
  await exited;
  return acknowledged;
}

/** a small generator, so that a failing run can be had again from its seed */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

test("after each of many SIGKILLs all that was acknowledged is there, once, and no number repeats", async () => {
  const seed = Number(process.env.SAND_TEST_SEED ?? Date.now() % 1_000_000);
  const random = createRandom(seed);
  const all: Acknowledged[] = [];
  const lastBeginMs = Date.now() + beginMaxMs;
  for (let round = 0; round < rounds && Date.now() < lastBeginMs; round += 1) {
    all.push(...(await killWriter(round, 1 + Math.floor(random() * 60), random() * 15)));
  }
  const index = rig.openIndex();
  const stores = new Map(["ada", "bob"].map((agentId) => [agentId, rig.open(agentId, { create: false })]));
  const lost = all.filter(({ agentId, nonce, seq }) => {
    const store = stores.get(agentId);
    const entry = store?.read.findEntry(brandId<EntryId>(`entry-${nonce}`));
    const prompt = store?.read.findPrompt(brandId<ClientNonce>(nonce));
    return entry?.seq !== seq || prompt === undefined || index.findNonce(brandId(nonce)) !== agentId;
  });
  expect({ seed, lost }).toEqual({ seed, lost: [] });
  expect(all.length).toBeGreaterThan(0);
  const seqs = all.map(({ seq }) => seq);
  expect(new Set(seqs).size).toBe(seqs.length);
  // A later run never falls below an earlier one, whatever the kill cut off.
  for (const [agentId, store] of stores) {
    const last = store.read.lastSeq();
    expect(index.agents().find((row) => row.agentId === agentId)).toMatchObject({
      lastSeq: last,
      hasOpenTurn: true,
    });
    expect(index.lastSeq()).toBeGreaterThanOrEqual(last);
  }
});
