/**
 * What an agent's store says, in a form that two readings of it can be compared in. Read by the store's own code: that
 * it opens is part of what is to be shown.
 */
import type { AgentStore } from "@sand/agent-core";
import { createLogger } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { createSeqAllocator, openAgentStore } from "@sand/store";

export interface AgentView {
  /** seq → the event as text, in order */
  readonly events: ReadonlyMap<number, string>;
  /** nonce → its row as text, but for the turn that took it */
  readonly prompts: ReadonlyMap<string, string>;
  readonly entryIds: ReadonlySet<string>;
  /** turn → its records as text, in order */
  readonly turns: ReadonlyMap<string, readonly string[]>;
  readonly lastSeq: number;
}

/** more than a recorded run has */
const rowsMax = 1_000_000;

export interface ViewedAgent {
  readonly directory: string;
  readonly agentId: string;
  /** nonces that may be in the ledger */
  readonly nonces: Iterable<string>;
  /** an agent whose creation wasn't answered may have a file without anything in it; a repeated request fills it */
  readonly isUnfinished: boolean;
}

/** Opens, reads and closes; throws when the store can't be opened. */
export async function viewAgent({
  directory,
  agentId,
  nonces,
  isUnfinished,
}: ViewedAgent): Promise<AgentView> {
  const complaints: string[] = [];
  await using store = openAgentStore({
    directory,
    agentId: brandId<AgentId>(agentId),
    seq: createSeqAllocator({ reservedThrough: 0, reserve: () => {} }),
    onCommitted: () => {},
    logger: createLogger({ name: "view", level: "warn", write: (line) => void complaints.push(line) }),
    create: isUnfinished,
  });
  const view = readView(store, nonces);
  if (complaints.length > 0) throw new Error(`the store complains: ${complaints.join(" ")}`);
  return view;
}

function readView({ read, eventsSince }: AgentStore, nonces: Iterable<string>): AgentView {
  const events = eventsSince(0, rowsMax);
  if (events === undefined) throw new Error("the store's oldest events are gone");
  const prompts = new Map<string, string>();
  for (const nonce of nonces) {
    const row = read.findPrompt(brandId(nonce));
    if (row !== undefined) prompts.set(nonce, JSON.stringify({ ...row, turnId: null }));
  }
  const open = read.openTurn();
  const turns = [...read.settledTurns({ limit: rowsMax }), ...(open === undefined ? [] : [open])];
  return {
    events: new Map(events.map((event) => [event.seq, JSON.stringify(event)])),
    prompts,
    entryIds: new Set(read.entriesBefore({ limit: rowsMax }).entries.map(({ entry }) => String(entry.id))),
    turns: new Map(
      turns.map(({ turnId }) => [turnId, read.records(turnId).map((record) => JSON.stringify(record))]),
    ),
    lastSeq: read.lastSeq(),
  };
}
