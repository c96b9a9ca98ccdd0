/**
 * Schemas that several commands share. The TypeScript types of responses are the interfaces of the protocol, so that
 * a handler returns exactly what the rest of the host speaks of; `wire-shapes.test.ts` holds schema and interface
 * together, because the client and the OpenAPI document are generated from the schemas.
 */
import Type, { type Static } from "typebox";
import type { AgentSummary } from "../agent-summary.ts";
import type { TranscriptEntry } from "../entries.ts";
import { limits } from "../limits.ts";

const nullable = (schema: Type.TSchema) => Type.Union([schema, Type.Null()]);

const text = Type.String();
const timestampMs = Type.Number();
/** ours: the position of the entry, also in the paging cursor */
const seq = Type.Optional(Type.Integer());

const messageEntry = Type.Object({
  kind: Type.Literal("message"),
  id: text,
  role: Type.Enum(["user", "assistant"]),
  content: text,
  timestampMs,
  requestId: Type.Optional(text),
  clientNonce: Type.Optional(text),
  replyToId: Type.Optional(text),
  seq,
});

const sentMessage = Type.Object({ type: Type.Literal("text"), content: text });

const sendMessageEntry = Type.Object({
  kind: Type.Literal("send-message"),
  id: text,
  message: sentMessage,
  requestId: text,
  timestampMs,
  seq,
});

const toolCallStatus = Type.Enum([
  "pending",
  "running",
  "completed",
  "failed",
  "interrupted",
  "denied",
  "unknown",
]);

const toolCallEntry = Type.Object({
  kind: Type.Literal("tool-call"),
  id: text,
  name: text,
  status: toolCallStatus,
  summary: text,
  argsPreview: text,
  outputHandle: nullable(text),
  timestampMs,
  outputPreview: Type.Optional(text),
  turnId: Type.Optional(text),
  seq,
});

const noticeEntry = Type.Object({
  kind: Type.Literal("notice"),
  id: text,
  level: Type.Enum(["info", "warning", "error"]),
  code: text,
  content: text,
  timestampMs,
  details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  seq,
});

export const transcriptEntry = Type.Unsafe<TranscriptEntry>(
  Type.Union([messageEntry, sendMessageEntry, toolCallEntry, noticeEntry]),
);

export const agentSummary = Type.Unsafe<AgentSummary>(
  Type.Object({
    id: text,
    name: text,
    description: text,
    title: text,
    path: text,
    avatarDataUrl: nullable(text),
    avatarVersion: nullable(text),
    avatarShape: nullable(text),
    avatarColor: nullable(text),
    createdAt: Type.Number(),
    updatedAt: Type.Number(),
    isActive: Type.Boolean(),
    isRunning: Type.Boolean(),
    isComposingMessage: Type.Boolean(),
    isRunningTurn: Type.Boolean(),
    isRetrying: Type.Boolean(),
    lastEntry: nullable(transcriptEntry),
    lastMessageId: nullable(text),
    lastMessagePreview: nullable(text),
    lastMessageAuthorId: nullable(text),
    newestEntryId: nullable(text),
    hasUnread: Type.Boolean(),
    unreadCount: Type.Integer(),
    lastViewedAt: nullable(Type.Number()),
    lastActivityAt: nullable(Type.Number()),
    awaitingUserResponse: nullable(Type.Boolean()),
    notificationsEnabled: Type.Boolean(),
    notifyOnUpdatesEnabled: Type.Boolean(),
    isHiddenFromSidebar: Type.Boolean(),
    origin: text,
    purpose: Type.Optional(text),
    isGroup: Type.Boolean(),
    memberIds: Type.Array(text),
    conversationPartnerIds: Type.Array(text),
  }),
);

/** one line of a conversation's outline (contract gateway §4.4) */
export const outlineItem = Type.Union([
  Type.Object({
    kind: Type.Literal("user"),
    id: text,
    text,
    hidden: Type.Optional(Type.Boolean()),
  }),
  Type.Object({ kind: Type.Literal("assistant-text"), id: text, text }),
  Type.Object({ kind: Type.Literal("thinking"), id: text, text, durationMs: Type.Optional(Type.Number()) }),
  Type.Object({
    kind: Type.Literal("tool-call"),
    id: text,
    name: text,
    status: toolCallStatus,
    summary: text,
  }),
  Type.Object({ kind: Type.Literal("send-message"), id: text, message: sentMessage, timestampMs }),
]);
export type OutlineItem = Static<typeof outlineItem>;

/** a page of transcript, oldest entry first; without `nextBeforeSeq` there is nothing older */
export const transcriptPage = Type.Object({
  entries: Type.Array(transcriptEntry),
  nextBeforeSeq: Type.Optional(Type.Integer()),
});

export type TranscriptPage = Static<typeof transcriptPage>;

/** Half a surrogate pair has no UTF-8 form, so two such nonces would be one in the ledger. */
const wholeText = "^[^\\uD800-\\uDFFF]+$";

export const nonceField = Type.String({ minLength: 1, maxLength: limits.nonceMaxLength, pattern: wholeText });

export const agentIdField = Type.String({ minLength: 1 });
export const emptyRequest = Type.Object({});
/** the answer of a command that has nothing to say */
export const voidAnswer = Type.Null();
