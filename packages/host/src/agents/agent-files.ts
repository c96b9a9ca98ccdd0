/**
 * The small files beside an agent's store: `profile.json` and `settings.json` (contract gateway §5). They are written
 * whole and atomically. A missing or unreadable one counts as empty: a damaged profile never hides a conversation.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "@sand/node-kit";
import type { AgentId, AgentProfile } from "@sand/protocol";

export interface AgentSettings {
  /** ours; a file of another program doesn't have it */
  readonly notificationsEnabled: boolean;
  readonly notifyOnAgentUpdates: boolean;
  readonly hiddenFromSidebar: boolean;
}

export function agentsFolder(dataRoot: string): string {
  return join(dataRoot, "agents");
}

export function agentFolder(dataRoot: string, agentId: AgentId): string {
  return join(agentsFolder(dataRoot), agentId);
}

export function makeAgentFolder(dataRoot: string, agentId: AgentId): string {
  const folder = agentFolder(dataRoot, agentId);
  // Not `recursive`: of a disk that refuses, Node would then say only that the folder isn't there.
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  return folder;
}

function readJsonObject(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    // Absent on first use; damaged counts the same, because the name of an agent is not worth its conversation.
    return {};
  }
}

function textOr<Fallback>(value: unknown, fallback: Fallback): string | Fallback {
  return typeof value === "string" ? value : fallback;
}

export function readProfile(folder: string, agentId: AgentId): AgentProfile {
  const stored = readJsonObject(join(folder, "profile.json"));
  return {
    name: textOr(stored.name, agentId),
    description: textOr(stored.description, ""),
    title: textOr(stored.title, ""),
    avatarShape: textOr(stored.avatarShape, null),
    avatarColor: textOr(stored.avatarColor, null),
  };
}

export async function writeProfile(folder: string, profile: AgentProfile): Promise<void> {
  await writeFileAtomic(join(folder, "profile.json"), `${JSON.stringify(profile, null, 2)}\n`, {
    mode: 0o600,
  });
}

export function readSettings(folder: string): AgentSettings {
  const stored = readJsonObject(join(folder, "settings.json"));
  return {
    notificationsEnabled: stored.notificationsEnabled !== false,
    notifyOnAgentUpdates: stored.notifyOnAgentUpdates !== false,
    hiddenFromSidebar: stored.hiddenFromSidebar === true,
  };
}

/** What other programs keep in the file stays there. */
export async function writeSettings(folder: string, settings: AgentSettings): Promise<void> {
  const path = join(folder, "settings.json");
  await writeFileAtomic(path, `${JSON.stringify({ ...readJsonObject(path), ...settings }, null, 2)}\n`, {
    mode: 0o600,
  });
}
