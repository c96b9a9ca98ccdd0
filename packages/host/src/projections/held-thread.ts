/**
 * The thread of projections as long as it is needed: started with the first thing to do, ended after a while without.
 *
 * There is never more than one, since it is the one writer: a new one waits for the end of the last. One that dies takes
 * its questions along; they are answered with a failure that may be tried again.
 */
import type { Logger } from "@sand/node-kit";
import { type AgentId, BoxError, type MediaHit, type SearchHit } from "@sand/protocol";
import {
  type ProjectionReply,
  type ProjectionRequest,
  type ProjectionThread,
  startProjectionThread,
} from "@sand/store";
import type { ProjectionTiming } from "./projection-timing.ts";

type Hits = readonly SearchHit[] | readonly MediaHit[];
type Report = Exclude<ProjectionReply, { readonly turn: number }>;

export interface HeldThread {
  isRunning(): boolean;
  send(request: ProjectionRequest): void;
  ask(of: "messages" | "media", query: string, limit: number): Promise<Hits>;
  /** Resolves when the thread writes nothing of the agent any more, at once when none runs. */
  forget(agentId: AgentId): Promise<void>;
  close(): Promise<void>;
}

export interface HeldThreadDeps {
  readonly dataRoot: string;
  readonly entry: string;
  readonly failpoint?: string;
  readonly logger: Logger;
  readonly timing: ProjectionTiming;
  readonly onReply: (reply: Report) => void;
  /** the thread ended without being asked */
  readonly onDeath: (error: unknown) => void;
}

interface Waiting {
  resolve(hits: Hits): void;
  reject(error: unknown): void;
}

export function createHeldThread(deps: HeldThreadDeps): HeldThread {
  const { timing } = deps;
  let thread: ProjectionThread | undefined;
  /** the end of the last thread, while it ends */
  let ending: Promise<void> | undefined;
  /** what came meanwhile */
  const held: ProjectionRequest[] = [];
  const asked = new Map<number, Waiting>();
  const forgetting = new Map<number, () => void>();
  let turns = 0;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;
  let lastError: unknown;

  function start(): ProjectionThread {
    const { entry, dataRoot: root, failpoint } = deps;
    const started = startProjectionThread({
      ...{ entry, root, ...(failpoint === undefined ? {} : { failpoint }) },
      onReply: hear,
      onError(error) {
        lastError = error;
      },
      onEnd() {
        if (thread !== started) return;
        thread = undefined;
        dropAll();
        deps.onDeath(lastError ?? new Error("the thread of projections ended"));
      },
    });
    return started;
  }

  function dropAll(): void {
    const gone = new BoxError("store/unavailable", "the search failed", { hint: "try again" });
    for (const one of asked.values()) one.reject(gone);
    asked.clear();
    for (const resolve of forgetting.values()) resolve();
    forgetting.clear();
  }

  function send(request: ProjectionRequest): void {
    if (isClosed) return;
    clearTimeout(idle);
    idle = undefined;
    if (ending !== undefined) {
      held.push(request);
      return;
    }
    thread ??= start();
    thread.send(request);
  }

  function hear(reply: ProjectionReply): void {
    switch (reply.kind) {
      case "hits":
        take(reply.turn)?.resolve(reply.hits);
        return;
      case "failed": {
        const { code, message, hint } = reply.error;
        take(reply.turn)?.reject(new BoxError(code, message, hint === undefined ? {} : { hint }));
        return;
      }
      case "forgotten":
        forgetting.get(reply.turn)?.();
        forgetting.delete(reply.turn);
        return;
      case "idle":
        if (asked.size === 0) idle ??= setTimeout(() => void end(), timing.idleMs).unref();
        deps.onReply(reply);
        return;
      case "fresh":
      case "progress":
      case "agent-failed":
      case "index-failed":
        deps.onReply(reply);
    }
  }

  function take(turn: number): Waiting | undefined {
    const waiting = asked.get(turn);
    asked.delete(turn);
    return waiting;
  }

  function end(): Promise<void> {
    const last = thread;
    thread = undefined;
    clearTimeout(idle);
    idle = undefined;
    if (last !== undefined) ending = last.close().finally(afterEnd);
    return ending ?? Promise.resolve();
  }

  function afterEnd(): void {
    ending = undefined;
    for (const request of held.splice(0)) send(request);
  }

  function ask(of: "messages" | "media", query: string, limit: number): Promise<Hits> {
    if (asked.size >= timing.searchesMax) {
      return Promise.reject(new BoxError("host/overloaded", "too many searches wait for their answer"));
    }
    turns += 1;
    const turn = turns;
    return new Promise((resolve, reject) => {
      asked.set(turn, { resolve, reject });
      send({ kind: "search", turn, of, query, limit });
    });
  }

  function forget(agentId: AgentId): Promise<void> {
    const isWriting = thread !== undefined || ending !== undefined;
    turns += 1;
    const turn = turns;
    return new Promise((resolve) => {
      if (isWriting) {
        // What can't be told in time is a thread that hangs; the removal doesn't hang with it.
        const late = setTimeout(resolve, timing.forgetMaxMs);
        forgetting.set(turn, () => {
          clearTimeout(late);
          resolve();
        });
      } else resolve();
      send({ kind: "forget", turn, agentId });
    });
  }

  return {
    isRunning: () => thread !== undefined,
    send,
    ask,
    forget,
    async close() {
      isClosed = true;
      held.length = 0;
      dropAll();
      await end();
    },
  };
}
