/**
 * Which agent is worked on next. Three lists: what has just changed, what a start or a rebuild found behind, and what is
 * to be forgotten. The first two take turns, so that a long history delays nobody's newest message.
 */
import { type AgentId, brandId } from "@sand/protocol";

export interface CatchUpCounts {
  readonly done: number;
  readonly total: number;
}

export interface WorkList {
  add(agentId: AgentId): void;
  /** Tells how much there is to catch up. */
  catchUp(behind: readonly AgentId[], gone: readonly string[]): CatchUpCounts;
  forget(agentId: AgentId): void;
  /** one that has just changed */
  nextFresh(): AgentId | undefined;
  next(): { readonly kind: "project" | "forget"; readonly agentId: AgentId } | undefined;
  /** The agent is up to date, or given up; tells how far a catching up is, while one is under way. */
  done(agentId: AgentId): CatchUpCounts | undefined;
  forgotten(agentId: AgentId): void;
  clear(): void;
}

export function createWorkList(): WorkList {
  const fresh = new Set<AgentId>();
  const behind = new Set<AgentId>();
  const gone = new Set<AgentId>();
  let total = 0;
  let isBehindsTurn = false;

  const firstOf = (set: ReadonlySet<AgentId>): AgentId | undefined => set.values().next().value;

  return {
    add(agentId) {
      // One that is being caught up reads what is newest anyway.
      if (!behind.has(agentId)) fresh.add(agentId);
    },
    catchUp(agents, missing) {
      for (const agentId of agents) {
        fresh.delete(agentId);
        behind.add(agentId);
      }
      for (const agentId of missing) gone.add(brandId<AgentId>(agentId));
      total = behind.size;
      return { done: 0, total };
    },
    forget(agentId) {
      fresh.delete(agentId);
      behind.delete(agentId);
      gone.add(agentId);
    },
    nextFresh: () => firstOf(fresh),
    next() {
      const forgotten = firstOf(gone);
      if (forgotten !== undefined) return { kind: "forget", agentId: forgotten };
      isBehindsTurn = !isBehindsTurn;
      const [one, other] = isBehindsTurn ? [behind, fresh] : [fresh, behind];
      const agentId = firstOf(one) ?? firstOf(other);
      return agentId === undefined ? undefined : { kind: "project", agentId };
    },
    done(agentId) {
      fresh.delete(agentId);
      if (!behind.delete(agentId)) return undefined;
      return { done: total - behind.size, total };
    },
    forgotten: (agentId) => void gone.delete(agentId),
    clear() {
      for (const set of [fresh, behind, gone]) set.clear();
      total = 0;
    },
  };
}
