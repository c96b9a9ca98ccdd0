/**
 * When the projections of agents are made, and the way to search in them.
 *
 * 1. A commit costs an entry in a set and now and then a timer; everything else is another thread's. That thread is
 *    started when there is something to do, and ends when there is nothing for a while.
 * 2. Some time after a start the index is asked what it holds. Only when an agent is behind is the thread started.
 * 3. Nothing here decides whether an agent exists: hits of agents that the roster doesn't know are left out.
 * 4. A failure is told once and tried again later, at growing distances; the host goes on without.
 */
import type { Logger } from "@sand/node-kit";
import { type AgentId, BoxError, type MediaHit, type SearchHit, type SearchStatus } from "@sand/protocol";
import { type AgentAt, type ProjectionReply, readProjected } from "@sand/store";
import { createCatchUpReport } from "./catch-up-report.ts";
import { createHeldThread } from "./held-thread.ts";
import { type ProjectionTiming, projectionTiming } from "./projection-timing.ts";
import { createRetryTimer } from "./retry-timer.ts";

export interface ProjectionsDeps {
  readonly dataRoot: string;
  /** the program that the thread is started from */
  readonly entry: string;
  readonly failpoint?: string;
  readonly logger: Logger;
  /** all agents, and the newest number that each has committed */
  agents(): readonly AgentAt[];
  readonly timing?: ProjectionTiming;
}

export interface Projections {
  /** The agent has committed something. Returns at once. */
  note(agentId: AgentId): void;
  /** The host is up: what earlier starts left behind is caught up some time from now. */
  start(): void;
  /** Resolves when nothing of the agent is written any more; its rows go afterwards. */
  forget(agentId: AgentId): Promise<void>;
  searchMessages(query: string, limit: number): Promise<readonly SearchHit[]>;
  searchMedia(query: string, limit: number): Promise<readonly MediaHit[]>;
  /** Makes the index anew, and compares every journal. */
  rebuild(): void;
  status(): SearchStatus;
  close(): Promise<void>;
}

export function createProjections(deps: ProjectionsDeps): Projections {
  const { logger } = deps;
  const timing = deps.timing ?? projectionTiming;
  const fresh = new Set<AgentId>();
  /** agents whose failure stands in the log, until things go well again */
  const told = new Set<AgentId>();
  let gathering: NodeJS.Timeout | undefined;
  /** when the first of what is gathered came, by the monotonic clock */
  let gatheringSinceMs = 0;
  let notes = 0;
  let look: NodeJS.Timeout | undefined;
  let isClosed = false;
  const report = createCatchUpReport({ logger, tellMs: timing.tellMs });
  const retry = createRetryTimer(timing, catchUp);
  const thread = createHeldThread({ ...deps, timing, onReply: hear, onDeath: (error) => failed(error) });

  /** What committed last comes first: that is what is looked for. */
  function catchUp(): void {
    if (isClosed) return;
    look = undefined;
    const agents = [...deps.agents()].sort((a, b) => b.lastSeq - a.lastSeq);
    thread.send({ kind: "catch-up", agents });
  }

  function lookForWork(): void {
    look = undefined;
    if (isClosed) return;
    const agents = deps.agents();
    const projected = readProjected(deps.dataRoot);
    const behind = agents.filter(({ agentId, lastSeq }) => (projected?.get(agentId) ?? -1) < lastSeq);
    report.progress(agents.length - behind.length, agents.length);
    if (behind.length > 0 || (projected?.size ?? 0) > agents.length) catchUp();
  }

  /** One timer for many commits: it looks at its end whether some came meanwhile, instead of being set anew by each. */
  function gather(): void {
    const seen = notes;
    const quietMs = thread.isRunning() ? timing.quietMs : timing.quietColdMs;
    gathering = setTimeout(() => {
      const isQuiet = notes === seen;
      if (isQuiet || performance.now() - gatheringSinceMs >= timing.gatherMaxMs) flush();
      else gather();
    }, quietMs).unref();
  }

  /** Whoever asks doesn't wait for the time of the look. */
  function lookNow(): void {
    if (look === undefined) return;
    clearTimeout(look);
    lookForWork();
  }

  function flush(): void {
    clearTimeout(gathering);
    gathering = undefined;
    if (fresh.size === 0 || isClosed) return;
    thread.send({ kind: "project", agents: [...fresh] });
    fresh.clear();
  }

  function failed(error: unknown): void {
    report.failed();
    const isFirst = retry.later();
    if (isFirst) logger.error({ event: "search.failed", err: error }, "projections fail and are tried again");
  }

  function hear(reply: Exclude<ProjectionReply, { readonly turn: number }>): void {
    switch (reply.kind) {
      case "fresh":
        report.begun(reply.setAside);
        catchUp();
        return;
      case "progress":
        report.progress(reply.done, reply.total);
        return;
      case "agent-failed": {
        const { agentId, error } = reply;
        if (!told.has(agentId))
          logger.warn(
            { event: "search.agent-failed", agentId, ...error },
            "an agent's projections are behind",
          );
        told.add(agentId);
        if (error.code === "store/unavailable") retry.later();
        return;
      }
      case "index-failed":
        failed(reply.error);
        return;
      case "idle":
        if (retry.isWaiting()) return;
        retry.reset();
        told.clear();
    }
  }

  async function search<Hit extends SearchHit | MediaHit>(
    of: "messages" | "media",
    query: string,
    limit: number,
  ): Promise<readonly Hit[]> {
    if (isClosed) throw new BoxError("host/shutting-down", "the host shuts down");
    lookNow();
    flush();
    // The thread answers each question with hits of its own kind.
    const hits = (await thread.ask(of, query, limit)) as readonly Hit[];
    const present = new Set<string>(deps.agents().map(({ agentId }) => agentId));
    return hits.filter(({ agentId }) => present.has(agentId));
  }

  return {
    note(agentId) {
      fresh.add(agentId);
      notes += 1;
      if (gathering !== undefined) return;
      gatheringSinceMs = performance.now();
      gather();
    },
    start() {
      look ??= setTimeout(lookForWork, timing.lookAfterMs).unref();
    },
    async forget(agentId) {
      fresh.delete(agentId);
      await thread.forget(agentId);
    },
    searchMessages: (query, limit) => search<SearchHit>("messages", query, limit),
    searchMedia: (query, limit) => search<MediaHit>("media", query, limit),
    rebuild() {
      report.begun(undefined);
      thread.send({ kind: "rebuild" });
    },
    status() {
      lookNow();
      return report.status(deps.agents().length);
    },
    async close() {
      isClosed = true;
      clearTimeout(gathering);
      clearTimeout(look);
      retry.stop();
      await thread.close();
    },
  };
}
