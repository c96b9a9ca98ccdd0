/** One row of the roster (contract gateway §4.1). `isRunning` and `isComposingMessage` are real booleans always. */

import type { TranscriptEntry } from "./entries.ts";
import type { AgentId, EntryId } from "./ids.ts";

export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly title: string;
  readonly avatarShape: string | null;
  readonly avatarColor: string | null;
}

export interface AgentSummary extends AgentProfile {
  readonly id: AgentId;
  readonly path: string;
  readonly avatarDataUrl: string | null;
  readonly avatarVersion: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly isActive: boolean;
  readonly isRunning: boolean;
  readonly isComposingMessage: boolean;
  readonly isRunningTurn: boolean;
  readonly isRetrying: boolean;
  readonly lastEntry: TranscriptEntry | null;
  readonly lastMessageId: EntryId | null;
  readonly lastMessagePreview: string | null;
  readonly lastMessageAuthorId: string | null;
  readonly newestEntryId: EntryId | null;
  readonly hasUnread: boolean;
  readonly unreadCount: number;
  readonly lastViewedAt: number | null;
  readonly lastActivityAt: number | null;
  readonly awaitingUserResponse: boolean | null;
  readonly notificationsEnabled: boolean;
  readonly notifyOnUpdatesEnabled: boolean;
  readonly isHiddenFromSidebar: boolean;
  readonly origin: string;
  readonly purpose?: string;
  readonly isGroup: boolean;
  readonly memberIds: readonly string[];
  readonly conversationPartnerIds: readonly string[];
}
