/** What the tests of this package start from: a data root in a temp folder, and builders of rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentStore, PromptRow, TurnRow } from "@sand/agent-core";
import { createLogger, type Logger, systemClock } from "@sand/node-kit";
import { type AgentId, brandId, type CommittedEvent, type EntryId, type MessageEntry } from "@sand/protocol";
import {
  createSeqAllocator,
  type OpenAgentStoreOptions,
  type OpenedHostIndex,
  openAgentStore,
  openHostIndex,
  type SeqAllocator,
} from "../src/index.ts";

export interface StoreRig extends AsyncDisposable {
  readonly root: string;
  readonly logger: Logger;
  /** lines that were logged */
  readonly logged: string[];
  /** what was published, in order, over all stores */
  readonly published: CommittedEvent[];
  readonly seq: SeqAllocator;
  agentFolder(agentId: string): string;
  open(agentId?: string, options?: Partial<OpenAgentStoreOptions>): AgentStore;
  openIndex(): OpenedHostIndex;
}

export function createStoreRig(): StoreRig {
  const root = mkdtempSync(join(tmpdir(), "sand-store-"));
  const logged: string[] = [];
  const logger = createLogger({ name: "test", level: "info", write: (line) => void logged.push(line) });
  const published: CommittedEvent[] = [];
  const onCommitted = (events: readonly CommittedEvent[]): void => void published.push(...events);
  const seq = createSeqAllocator({ reservedThrough: 0, reserve: () => {} });
  const opened: { close(): Promise<void> }[] = [];
  const agentFolder = (agentId: string): string => join(root, "agents", agentId);

  return {
    root,
    logger,
    logged,
    published,
    seq,
    agentFolder,
    open(agentId = "ada", options = {}) {
      const store = openAgentStore({
        directory: agentFolder(agentId),
        agentId: brandId<AgentId>(agentId),
        seq,
        onCommitted,
        logger,
        ...options,
      });
      opened.push(store);
      return store;
    },
    openIndex() {
      const index = openHostIndex({ root, onCommitted, clock: systemClock, logger });
      opened.push(index);
      return index;
    },
    async [Symbol.asyncDispose]() {
      for (const handle of opened.reverse()) await handle.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export function message(id: string, content = id): MessageEntry {
  return { kind: "message", id: brandId<EntryId>(id), role: "user", content, timestampMs: 1 };
}

export function promptRow(nonce: string, changes: Partial<PromptRow> = {}): PromptRow {
  return {
    promptId: brandId(`prompt-${nonce}`),
    nonce: brandId(nonce),
    digest: "d".repeat(64),
    entryId: brandId(`entry-${nonce}`),
    text: "hello",
    whenBusy: "steer",
    provenance: { origin: "user", trust: "trusted", lineage: [] },
    acceptedAtMs: 7,
    turnId: null,
    ...changes,
  };
}

export function turnRow(generation: number, changes: Partial<TurnRow> = {}): TurnRow {
  return {
    turnId: brandId(`turn-${generation}`),
    generation,
    state: "open",
    outcome: null,
    startedAtMs: 5,
    settledAtMs: null,
    ...changes,
  };
}
