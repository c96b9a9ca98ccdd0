/** Stores with a conversation in them, and a projector that works in this thread until nothing is left to do. */
import { readFileSync } from "node:fs";
import type { AgentStore, TurnRecord } from "@sand/agent-core";
import { type AgentId, brandId, type EntryId, type SearchHit } from "@sand/protocol";
import { journalPath } from "../src/projections/journal-file.ts";
import type { ProjectionReply } from "../src/projections/projection-messages.ts";
import { createProjector, type Projector } from "../src/projections/projector.ts";
import { createStoreRig, type StoreRig, turnRow } from "./store-rig.ts";

export interface ProjectionRig extends AsyncDisposable {
  readonly rig: StoreRig;
  readonly said: ProjectionReply[];
  /** the projector's life is that of a thread: another one after a restart */
  projector(): Projector;
  restart(): void;
  /** does all there is to do for these agents */
  project(...agents: string[]): void;
  /** as at a start: everything that is behind */
  catchUp(...agents: readonly (readonly [agentId: string, lastSeq: number])[]): void;
  settle(): void;
  find(query: string, limit?: number): readonly SearchHit[];
  /** the entries that a query finds */
  found(query: string): readonly string[];
  journal(agentId: string): string;
}

export function createProjectionRig(): ProjectionRig {
  const rig = createStoreRig();
  const said: ProjectionReply[] = [];
  const start = (): Projector =>
    createProjector({ root: rig.root, say: (reply) => void said.push(reply), nowMs: () => 1 });
  let projector = start();
  let turn = 0;

  function settle(): void {
    for (let chunks = 0; projector.step(); chunks += 1) {
      if (chunks > 10_000) throw new Error("the projector finds no end");
    }
  }

  function find(query: string, limit = 50): readonly SearchHit[] {
    turn += 1;
    projector.receive({ kind: "search", of: "messages", turn, query, limit });
    const reply = said.findLast((one) => "turn" in one && one.turn === turn);
    if (reply?.kind !== "hits") throw new Error(`no hits but ${JSON.stringify(reply)}`);
    return reply.hits as readonly SearchHit[];
  }

  return {
    rig,
    said,
    projector: () => projector,
    restart() {
      projector.close();
      projector = start();
    },
    project(...agents) {
      projector.receive({ kind: "project", agents: agents.map(brandId<AgentId>) });
      settle();
    },
    catchUp(...agents) {
      const all = agents.map(([agentId, lastSeq]) => ({ agentId: brandId<AgentId>(agentId), lastSeq }));
      projector.receive({ kind: "catch-up", agents: all });
      settle();
    },
    settle,
    find,
    found: (query) => find(query).map(({ entryId }) => entryId),
    journal: (agentId) => readFileSync(journalPath(rig.root, brandId<AgentId>(agentId)), "utf8"),
    async [Symbol.asyncDispose]() {
      projector.close();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** A turn with a question and its answer, as the host commits it. */
export async function converse(store: AgentStore, generation: number, question: string, answer: string) {
  const at = { turnId: turnRow(generation).turnId, generation };
  const provenance = { origin: "user", trust: "trusted", lineage: [] } as const;
  const name = `${store.agentId}-${generation}`;
  const atMs = 1_700_000_000_000 + generation;
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: null, cacheWriteTokens: null };
  const records: readonly TurnRecord[] = [
    { kind: "turnStarted", ...at, atMs, provenance },
    {
      kind: "promptDelivered",
      prompt: {
        ...{ promptId: brandId(`p-${name}`), entryId: brandId(`q-${name}`), nonce: brandId(`n-${name}`) },
        ...{ text: question, provenance },
      },
      ...{ beforeStep: 1, atMs },
    },
    {
      ...{
        kind: "stepCompleted",
        step: 1,
        attempt: 1,
        finish: "stop",
        text: answer,
        calls: [],
        rawParts: [],
      },
      ...{ answerEntryId: brandId(`a-${name}`), usage: { ...usage, reasoningTokens: null } },
      ...{ provider: "p", model: "m", atMs },
    },
    { kind: "turnSettled", outcome: "success", code: null, reason: null, atMs },
  ];
  await store.transact((tx) => {
    tx.appendEntry({
      ...{ kind: "message", id: brandId<EntryId>(`q-${name}`), role: "user" },
      ...{ content: question, timestampMs: atMs },
    });
    tx.insertTurn(turnRow(generation));
    for (const record of records) tx.appendRecord(at, record);
    tx.appendEntry({
      ...{ kind: "send-message", id: brandId<EntryId>(`a-${name}`), requestId: brandId("r") },
      ...{ message: { type: "text", content: answer }, timestampMs: atMs },
    });
    tx.settleTurn(at, "success", atMs);
  });
}
