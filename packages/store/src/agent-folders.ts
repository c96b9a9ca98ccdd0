/** The agents that lie under a data root, told by their folders. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AgentId, isSafeAgentId } from "@sand/protocol";
import { storeFileName } from "./open-agent-store.ts";

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
  const folders: AgentFolder[] = [];
  for (const name of listNames(agentsFolder(root))) {
    if (!isSafeAgentId(name)) continue;
    const storePath = join(agentsFolder(root), name, storeFileName);
    const file = statSync(storePath, { throwIfNoEntry: false });
    if (file?.isFile() !== true) continue;
    const log = statSync(`${storePath}-wal`, { throwIfNoEntry: false });
    folders.push({ agentId: name, storePath, modifiedAtMs: file.mtimeMs, hasLog: (log?.size ?? 0) > 0 });
  }
  return folders;
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
