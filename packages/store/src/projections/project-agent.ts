/** One agent's projections while they are brought up to date: its rows of the search first, then its journal. */
import type { AgentId } from "@sand/protocol";
import type { Connection } from "../sqlite.ts";
import { createJournalJob, type JournalJob } from "./project-journal.ts";
import type { Progress, SearchProjector } from "./project-search.ts";
import { openStoreReader } from "./read-store.ts";

export interface AgentJob {
  readonly agentId: AgentId;
  step(): Progress;
  /** Leaves nothing open; the agent's files may be moved afterwards. */
  close(): void;
}

export interface AgentJobDeps {
  readonly root: string;
  readonly connection: Connection;
  readonly search: SearchProjector;
}

/** `undefined` when the agent has no store. */
export function openAgentJob(deps: AgentJobDeps, agentId: AgentId): AgentJob | undefined {
  const store = openStoreReader(deps.root, agentId);
  if (store === undefined) return undefined;
  let journal: JournalJob | undefined;
  let isSearchDone = false;
  return {
    agentId,
    step() {
      if (!isSearchDone) {
        isSearchDone = deps.search.step(agentId, store) === "done";
        return "more";
      }
      journal ??= createJournalJob({ ...deps, agentId, store });
      return journal.step();
    },
    close() {
      journal?.close();
      store.close();
    },
  };
}
