/**
 * Says once more that an agent is idle, some time after its turn ended. Clients that watch the stream take a turn for
 * over only at an idle row that comes 2 s or more after the last entry (contract gateway §0.2).
 *
 * They measure with their own clocks and from when the entry reached them. A timer of exactly 2 s may fire a
 * millisecond early, and an entry may be slower on its way than the row, so the echo comes a little later than that.
 */
import type { AgentId, HostEvent } from "@sand/protocol";
import { asJson } from "../agents/agent-handle.ts";
import type { OpenAgents } from "../agents/open-agents.ts";

export const idleEchoAfterMs = 2_250;

export interface IdleEchoDeps {
  readonly open: OpenAgents;
  publish(events: readonly HostEvent[]): void;
  activeAgentId(): AgentId | null;
}

export interface IdleEcho {
  schedule(agentId: AgentId): void;
  close(): void;
}

export function createIdleEcho(deps: IdleEchoDeps): IdleEcho {
  const timers = new Map<AgentId, NodeJS.Timeout>();

  function say(agentId: AgentId): void {
    timers.delete(agentId);
    const handle = deps.open.peek(agentId);
    if (handle === undefined || handle.turn() !== null) return;
    const payload = { agent: asJson(handle.summary()), activeAgentId: deps.activeAgentId() };
    deps.publish([{ seq: null, channel: "agent-upserted", payload }]);
  }

  return {
    schedule(agentId) {
      clearTimeout(timers.get(agentId));
      timers.set(
        agentId,
        setTimeout(() => say(agentId), idleEchoAfterMs),
      );
    },
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
