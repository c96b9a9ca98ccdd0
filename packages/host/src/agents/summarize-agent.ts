/** One roster row from the agent's files and store. Running is derived from the open turn, never a stored boolean. */
import type { AgentReads } from "@sand/agent-core";
import type { AgentId, AgentProfile, AgentSummary, JsonObject, JsonValue } from "@sand/protocol";
import type { AgentSettings } from "./agent-files.ts";
import { readRoster, readUnread } from "./roster-state.ts";

export interface AgentMetadata {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly origin: string;
  readonly purpose: string | null;
}

const metadataKey = "metadata";

export function readMetadata(reads: Pick<AgentReads, "getValue">): AgentMetadata | undefined {
  const stored: JsonValue | undefined = reads.getValue(metadataKey);
  if (typeof stored !== "object" || stored === null || Array.isArray(stored)) return undefined;
  const { createdAt, updatedAt, origin, purpose } = stored as JsonObject;
  return {
    createdAt: typeof createdAt === "number" ? createdAt : 0,
    updatedAt: typeof updatedAt === "number" ? updatedAt : 0,
    origin: typeof origin === "string" ? origin : "user",
    purpose: typeof purpose === "string" ? purpose : null,
  };
}

export const metadataKeyName = metadataKey;

/** true while the open turn waits for another try at its model; means nothing without an open turn */
export const retryingKey = "isRetrying";

export interface SummaryInput {
  readonly agentId: AgentId;
  readonly folder: string;
  readonly profile: AgentProfile;
  readonly settings: AgentSettings;
  readonly reads: AgentReads;
  readonly isActive: boolean;
}

export function summarizeAgent(input: SummaryInput): AgentSummary {
  const { agentId, profile, settings, reads } = input;
  const metadata = readMetadata(reads);
  const roster = readRoster(reads);
  const unread = readUnread(reads);
  const isRunning = reads.openTurn() !== undefined;
  return {
    id: agentId,
    ...profile,
    path: input.folder,
    avatarDataUrl: null,
    avatarVersion: null,
    createdAt: metadata?.createdAt ?? 0,
    updatedAt: Math.max(metadata?.updatedAt ?? 0, roster.lastActivityAt ?? 0),
    isActive: input.isActive,
    isRunning,
    isComposingMessage: isRunning,
    isRunningTurn: isRunning,
    isRetrying: isRunning && reads.getValue(retryingKey) === true,
    lastEntry: roster.lastEntry,
    lastMessageId: roster.lastMessageId,
    lastMessagePreview: roster.lastMessagePreview,
    lastMessageAuthorId: roster.lastMessageAuthorId,
    newestEntryId: roster.newestEntryId,
    hasUnread: unread.count > 0,
    unreadCount: unread.count,
    lastViewedAt: unread.lastViewedAt,
    lastActivityAt: roster.lastActivityAt,
    awaitingUserResponse: null,
    notificationsEnabled: settings.notificationsEnabled,
    notifyOnUpdatesEnabled: settings.notifyOnAgentUpdates,
    isHiddenFromSidebar: settings.hiddenFromSidebar,
    origin: metadata?.origin ?? "user",
    ...(metadata?.purpose == null ? {} : { purpose: metadata.purpose }),
    isGroup: false,
    memberIds: [],
    conversationPartnerIds: [],
  };
}
