/**
 * The agents that are open in this process. An agent opens on its first use and stays open; opening twice at once is
 * one opening. A damaged store fails its own agent only. Once all are closed none is opened any more: the data root may
 * belong to another host by then.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentStore, HostIndex } from "@sand/agent-core";
import { createSingleFlight } from "@sand/node-kit";
import { type AgentId, BoxError, isSafeAgentId } from "@sand/protocol";
import { agentFolder } from "./agent-files.ts";
import { type AgentHandle, createAgentHandle } from "./agent-handle.ts";

export interface OpenAgentsDeps {
  readonly dataRoot: string;
  readonly index: HostIndex;
  activeAgentId(): AgentId | null;
  openStore(agentId: AgentId, folder: string): Promise<AgentStore>;
}

export interface OpenAgents {
  /** `gateway/agent-not-found` when no such agent exists, `store/damaged` when its store can't be read */
  open(agentId: AgentId): Promise<AgentHandle>;
  /** the handle when the agent is open already */
  peek(agentId: AgentId): AgentHandle | undefined;
  /** closes the agent's store; the caller has ended its turn */
  close(agentId: AgentId): Promise<void>;
  closeAll(): Promise<void>;
}

export function createOpenAgents(deps: OpenAgentsDeps): OpenAgents {
  const handles = new Map<AgentId, AgentHandle>();
  const once = createSingleFlight<AgentHandle>();
  const opening = new Set<Promise<AgentHandle>>();
  let isClosed = false;

  function refuseWhenClosed(): void {
    if (!isClosed) return;
    throw new BoxError("host/shutting-down", "the host is ending, and opens no agent any more");
  }

  async function openFresh(agentId: AgentId): Promise<AgentHandle> {
    refuseWhenClosed();
    const folder = agentFolder(deps.dataRoot, agentId);
    if (!existsSync(join(folder, "profile.json")) && !existsSync(join(folder, "store.db")))
      throw notFound(agentId);
    const store = await deps.openStore(agentId, folder);
    try {
      refuseWhenClosed();
      const handle = createAgentHandle(deps, { agentId, folder, store });
      handles.set(agentId, handle);
      return handle;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async function openTracked(agentId: AgentId): Promise<AgentHandle> {
    const flight = openFresh(agentId);
    opening.add(flight);
    try {
      return await flight;
    } finally {
      opening.delete(flight);
    }
  }

  return {
    async open(agentId) {
      const open = handles.get(agentId);
      if (open !== undefined) return open;
      if (!isSafeAgentId(agentId)) {
        throw new BoxError("gateway/unsafe-agent-id", "an agent's id must be a plain folder name");
      }
      return await once(agentId, () => openTracked(agentId));
    },
    peek: (agentId) => handles.get(agentId),
    async close(agentId) {
      const handle = handles.get(agentId);
      handles.delete(agentId);
      await handle?.store.close();
    },
    async closeAll() {
      isClosed = true;
      const open = [...handles.values()];
      handles.clear();
      await Promise.all(open.map((handle) => handle.store.close()));
      // What is being opened closes its store by itself, and the index is needed until then.
      await Promise.allSettled(opening);
    },
  };
}

function notFound(agentId: string): BoxError {
  return new BoxError("gateway/agent-not-found", `no agent has the id ${JSON.stringify(agentId)}`, {
    hint: "listAgents names the agents that exist",
  });
}
