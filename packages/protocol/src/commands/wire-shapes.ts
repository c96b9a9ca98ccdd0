/**
 * Schemas that several commands share. Response schemas check the fields that clients insist on; their TypeScript
 * types are the interfaces of the protocol, so that a handler returns exactly what the rest of the host speaks of.
 */
import Type, { type Static } from "typebox";
import type { AgentSummary } from "../agent-summary.ts";
import type { TranscriptEntry } from "../entries.ts";

const nullable = (schema: Type.TSchema) => Type.Union([schema, Type.Null()]);

export const agentSummary = Type.Unsafe<AgentSummary>(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    title: Type.String(),
    path: Type.String(),
    avatarDataUrl: nullable(Type.String()),
    avatarVersion: nullable(Type.String()),
    avatarShape: nullable(Type.String()),
    avatarColor: nullable(Type.String()),
    createdAt: Type.Number(),
    updatedAt: Type.Number(),
    isActive: Type.Boolean(),
    isRunning: Type.Boolean(),
    isComposingMessage: Type.Boolean(),
    lastMessageId: nullable(Type.String()),
    lastMessagePreview: nullable(Type.String()),
    hasUnread: Type.Boolean(),
    unreadCount: Type.Integer(),
    notificationsEnabled: Type.Boolean(),
    notifyOnUpdatesEnabled: Type.Boolean(),
    isHiddenFromSidebar: Type.Boolean(),
    origin: Type.String(),
    isGroup: Type.Boolean(),
    memberIds: Type.Array(Type.String()),
    conversationPartnerIds: Type.Array(Type.String()),
  }),
);

export const transcriptEntry = Type.Unsafe<TranscriptEntry>(
  Type.Object({ kind: Type.String(), id: Type.String(), timestampMs: Type.Number() }),
);

/** a page of transcript, oldest entry first; without `nextBeforeSeq` there is nothing older */
export const transcriptPage = Type.Object({
  entries: Type.Array(transcriptEntry),
  nextBeforeSeq: Type.Optional(Type.Integer()),
});

export type TranscriptPage = Static<typeof transcriptPage>;

export const agentIdField = Type.String({ minLength: 1 });
export const emptyRequest = Type.Object({});
