/**
 * All projections of a data root: the one writer of the search index and of the journals.
 *
 * 1. Work is done in chunks, and a search is answered between any two of them.
 * 2. Agents that have just committed take turns with those that are behind by much.
 * 3. An agent that can't be read, or whose journal can't be written, is told and left; the others go on. An index that
 *    is damaged is set aside and begun anew; one that can't be written is told, and all work is dropped until the host
 *    asks again.
 */
import { type AgentId, BoxError, type ErrorCode } from "@sand/protocol";
import { isDamage, isStorageFault } from "../sqlite.ts";
import { createHeldIndex, type OpenIndex } from "./hold-index.ts";
import { createJournalMarks } from "./journal-marks.ts";
import { type AgentJob, openAgentJob } from "./project-agent.ts";
import { projectionLimits } from "./projection-limits.ts";
import type { AgentAt, ProjectionReply, ProjectionRequest, SayableError } from "./projection-messages.ts";
import { indexedAgents } from "./read-projected.ts";
import { createWorkList } from "./work-list.ts";

export interface ProjectorDeps {
  readonly root: string;
  readonly say: (reply: ProjectionReply) => void;
  readonly nowMs: () => number;
}

export interface Projector {
  receive(request: ProjectionRequest): void;
  /** Does one chunk; false when there is nothing to do. */
  step(): boolean;
  close(): void;
}

type SearchRequest = Extract<ProjectionRequest, { kind: "search" }>;

export function createProjector({ root, say, nowMs }: ProjectorDeps): Projector {
  const work = createWorkList();
  const jobs = new Map<AgentId, AgentJob>();
  const held = createHeldIndex({
    root,
    nowMs,
    onFresh: (setAside) => say({ kind: "fresh", setAside }),
    onClose() {
      for (const agentId of [...jobs.keys()]) endJob(agentId);
    },
  });

  function endJob(agentId: AgentId): void {
    const job = jobs.get(agentId);
    jobs.delete(agentId);
    job?.close();
  }

  /** Returns whether an empty index was made instead. */
  function indexFailed(error: unknown): boolean {
    const reason = held.fail(error);
    work.clear();
    if (reason === undefined) return true;
    say({ kind: "index-failed", error: sayable(reason, "the search index can't be used now") });
    return false;
  }

  /** Ends the agent's turn in the list, done or given up. */
  function leave(agentId: AgentId): void {
    endJob(agentId);
    const counts = work.done(agentId);
    if (counts !== undefined) say({ kind: "progress", ...counts });
  }

  function stepAgent({ index, search }: OpenIndex, agentId: AgentId): void {
    const { connection } = index.database;
    const job = jobs.get(agentId) ?? openAgentJob({ root, connection, search }, agentId);
    if (job !== undefined) jobs.set(agentId, job);
    if (job?.step() !== "more") leave(agentId);
  }

  function forgetSome({ index, search }: OpenIndex, agentId: AgentId): void {
    if (search.forget(agentId) === "more") return;
    createJournalMarks(index.database.connection).forget(agentId);
    work.forgotten(agentId);
  }

  /** Runs with the index; what goes wrong at its opening is told. */
  function withIndex(run: (opened: OpenIndex) => void): void {
    let opened: OpenIndex;
    try {
      opened = held.use();
    } catch (error) {
      indexFailed(error);
      return;
    }
    run(opened);
  }

  function workOn(kind: "project" | "forget", agentId: AgentId): void {
    withIndex((opened) => {
      try {
        if (kind === "forget") forgetSome(opened, agentId);
        else stepAgent(opened, agentId);
      } catch (error) {
        // A store's failures come as `BoxError`, those of a journal as Node's own; what SQLite itself says is the index's.
        if (isStorageFault(error)) {
          indexFailed(error);
          return;
        }
        say({
          kind: "agent-failed",
          agentId,
          error: sayable(error, "the agent's projections can't be made"),
        });
        work.forgotten(agentId);
        leave(agentId);
      }
    });
  }

  function step(): boolean {
    const next = work.next();
    if (next === undefined) return false;
    workOn(next.kind, next.agentId);
    return true;
  }

  /** Whoever has just said something expects to find it; a history that is caught up is not waited for. */
  function takeFresh(): void {
    const endMs = performance.now() + projectionLimits.searchWaitMs;
    for (let agentId = work.nextFresh(); agentId !== undefined; agentId = work.nextFresh()) {
      if (performance.now() >= endMs) return;
      workOn("project", agentId);
    }
  }

  function search({ turn, of, query, limit }: SearchRequest): void {
    takeFresh();
    const answer = (): void => say({ kind: "hits", turn, hits: held.use().reads[of](query, limit) });
    try {
      answer();
    } catch (error) {
      // What is in the empty index that took the place of a damaged one is the answer then.
      if (indexFailed(error)) answer();
      else say({ kind: "failed", turn, error: sayable(error, "the search can't be answered now") });
    }
  }

  function catchUp(agents: readonly AgentAt[]): void {
    withIndex(({ index }) => {
      const projected = indexedAgents(index.database.connection);
      const behind = agents.filter(({ agentId, lastSeq }) => (projected.get(agentId) ?? -1) < lastSeq);
      const present = new Set<string>(agents.map(({ agentId }) => agentId));
      const gone = [...projected.keys()].filter((agentId) => !present.has(agentId));
      const counts = work.catchUp(
        behind.map(({ agentId }) => agentId),
        gone,
      );
      say({ kind: "progress", ...counts });
    });
  }

  return {
    step,
    close: held.close,
    receive(request) {
      switch (request.kind) {
        case "project":
          for (const agentId of request.agents) work.add(agentId);
          return;
        case "catch-up":
          catchUp(request.agents);
          return;
        case "forget":
          endJob(request.agentId);
          work.forget(request.agentId);
          say({ kind: "forgotten", turn: request.turn });
          return;
        case "search":
          search(request);
          return;
        case "rebuild":
          try {
            held.renew();
            work.clear();
          } catch (error) {
            indexFailed(error);
          }
          return;
        case "close":
          held.close();
      }
    },
  };
}

function sayable(error: unknown, what: string): SayableError {
  if (error instanceof BoxError) {
    const { code, message, hint } = error;
    return { code, message, ...(hint === undefined ? {} : { hint }) };
  }
  const code: ErrorCode = isDamage(error) ? "store/damaged" : "store/unavailable";
  const cause = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return { code, message: `${what}${cause}`, hint: "check the disk's space and health" };
}
