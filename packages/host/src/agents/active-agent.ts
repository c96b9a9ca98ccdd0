/** Which agent is active: `agents/active-agent.json` (contract gateway §5). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";
import { type AgentId, isSafeAgentId } from "@sand/protocol";
import { agentsFolder } from "./agent-files.ts";

export interface ActiveAgent {
  current(): AgentId | null;
  set(agentId: AgentId | null): Promise<void>;
}

export function openActiveAgent(dataRoot: string): ActiveAgent {
  const path = join(agentsFolder(dataRoot), "active-agent.json");
  let current = readActive(path);
  return {
    current: () => current,
    async set(agentId) {
      if (current === agentId) return;
      current = agentId;
      await writeFileAtomic(path, `${JSON.stringify({ activeAgentId: agentId })}\n`, { mode: 0o600 });
    },
  };
}

function readActive(path: string): AgentId | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const id: unknown =
      typeof value === "object" && value !== null && "activeAgentId" in value ? value.activeAgentId : null;
    return typeof id === "string" && isSafeAgentId(id) ? id : null;
  } catch {
    // Absent or damaged: no agent is active until one is opened or created.
    return null;
  }
}
