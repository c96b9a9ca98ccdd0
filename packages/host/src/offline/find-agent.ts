/** Which agent of a data root a person means by a word, told by folders and profiles alone. An id wins over a name. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type AgentId, BoxError, isSafeAgentId } from "@sand/protocol";
import { storeFileName } from "@sand/store";
import { agentFolder, agentsFolder, readProfile } from "../agents/agent-files.ts";

export interface FoundAgent {
  readonly agentId: AgentId;
  readonly folder: string;
  readonly name: string;
}

export function listAgents(root: string): readonly FoundAgent[] {
  const ids = existsSync(agentsFolder(root)) ? readdirSync(agentsFolder(root)).filter(isSafeAgentId) : [];
  return ids.flatMap((agentId) => {
    const folder = agentFolder(root, agentId);
    if (!existsSync(join(folder, storeFileName))) return [];
    return [{ agentId, folder, name: readProfile(folder, agentId).name }];
  });
}

export function findAgent(root: string, word: string): FoundAgent {
  const agents = listAgents(root);
  const byId = agents.find(({ agentId }) => agentId === word);
  const named = byId === undefined ? agents.filter(({ name }) => name === word) : [byId];
  const [first] = named;
  if (first === undefined)
    throw new BoxError("gateway/agent-not-found", `no agent here is called ${JSON.stringify(word)}`);
  if (named.length === 1) return first;
  throw new BoxError("gateway/bad-request", `${named.length} agents are called ${JSON.stringify(word)}`, {
    hint: `name one by its id: ${named.map(({ agentId }) => agentId).join(", ")}`,
  });
}
