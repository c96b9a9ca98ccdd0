/** The agents that lie under a data root, told by their folders. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AgentId, isSafeAgentId } from "@sand/protocol";
import { storeFileName } from "./open-agent-store.ts";
import { finishInstall } from "./recovery/recover-agent-store.ts";

export interface AgentFolder {
  readonly agentId: AgentId;
  readonly storePath: string;
  /** when the database file was last written; a write-ahead log isn't part of it */
  readonly modifiedAtMs: number;
  /** a log is left only by a process that ended while it had the store open */
  readonly hasLog: boolean;
}

export function agentsFolder(root: string): string {
  return join(root, "agents");
}

/** Folders that hold a store. Costs one listing and two looks for each, opens nothing. */
export function listAgentFolders(root: string): readonly AgentFolder[] {
  return listAgentIds(root).flatMap((agentId) => lookAtFolder(root, agentId) ?? []);
}

/** What may be an agent's folder, by its name alone. */
export function listAgentIds(root: string): readonly AgentId[] {
  return listNames(agentsFolder(root)).filter(isSafeAgentId);
}

/** The folder when it holds a store. */
export function lookAtFolder(root: string, agentId: AgentId): AgentFolder | undefined {
  const storePath = join(agentsFolder(root), agentId, storeFileName);
  let file = statSync(storePath, { throwIfNoEntry: false });
  // A repair that a crash cut off right before its last step.
  if (file === undefined && finishInstall(storePath, Date.now())) file = statSync(storePath);
  if (file?.isFile() !== true) return undefined;
  const log = statSync(`${storePath}-wal`, { throwIfNoEntry: false });
  return { agentId, storePath, modifiedAtMs: file.mtimeMs, hasLog: (log?.size ?? 0) > 0 };
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
