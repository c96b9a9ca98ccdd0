import type { Static } from "typebox";
import Type from "typebox";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import type { AgentSummary } from "../agent-summary.ts";
import type { TranscriptEntry } from "../entries.ts";
import { brandId, type EntryId, type RequestId } from "../ids.ts";
import { agentSummary, transcriptEntry } from "./wire-shapes.ts";

/** what JSON makes of a branded id */
const id = brandId<EntryId & RequestId>("e1");

/** one of each kind with every field; a field that is added to an interface has to be added here and to the schema */
const entries: { [Kind in TranscriptEntry["kind"]]: Required<Extract<TranscriptEntry, { kind: Kind }>> } = {
  message: {
    kind: "message",
    id,
    role: "user",
    content: "hello",
    timestampMs: 1,
    requestId: id,
    clientNonce: brandId("n"),
    replyToId: "e0",
    seq: 1,
  },
  "send-message": {
    kind: "send-message",
    id,
    message: { type: "text", content: "hi" },
    requestId: id,
    timestampMs: 1,
    seq: 1,
  },
  "tool-call": {
    kind: "tool-call",
    id,
    name: "shell",
    status: "completed",
    summary: "ls",
    argsPreview: "{}",
    outputHandle: null,
    timestampMs: 1,
    outputPreview: "out",
    turnId: brandId("t"),
    seq: 1,
  },
  notice: {
    kind: "notice",
    id,
    level: "info",
    code: "c",
    content: "text",
    timestampMs: 1,
    details: {},
    seq: 1,
  },
};

const summary: Required<AgentSummary> = {
  id: brandId("a"),
  name: "Ada",
  description: "",
  title: "",
  path: "",
  avatarDataUrl: null,
  avatarVersion: null,
  avatarShape: "blob",
  avatarColor: null,
  createdAt: 1,
  updatedAt: 1,
  isActive: true,
  isRunning: false,
  isComposingMessage: false,
  isRunningTurn: false,
  isRetrying: false,
  lastEntry: entries.message,
  lastMessageId: id,
  lastMessagePreview: null,
  lastMessageAuthorId: null,
  newestEntryId: null,
  hasUnread: false,
  unreadCount: 0,
  lastViewedAt: null,
  lastActivityAt: 1,
  awaitingUserResponse: null,
  notificationsEnabled: true,
  notifyOnUpdatesEnabled: true,
  isHiddenFromSidebar: false,
  origin: "user",
  purpose: "p",
  isGroup: false,
  memberIds: [],
  conversationPartnerIds: [],
};

/** The properties that a schema names; of a union, those of the member for this kind. */
function namedFields(schema: Type.TSchema, kind?: string): string[] {
  if (Type.IsObject(schema)) return Object.keys(schema.properties).sort();
  const members = Type.IsUnion(schema) ? schema.anyOf : [];
  const ofKind = members.find((member) => {
    const tag: unknown = Type.IsObject(member) ? member.properties.kind : undefined;
    return typeof tag === "object" && tag !== null && "const" in tag && tag.const === kind;
  });
  return ofKind === undefined ? [] : namedFields(ofKind);
}

test.each(Object.values(entries))(
  "the schema of a $kind entry names exactly its fields and takes it",
  (entry) => {
    expect(namedFields(transcriptEntry, entry.kind)).toEqual(Object.keys(entry).sort());
    expect(Compile(transcriptEntry).Check(entry)).toBe(true);
  },
);

test("the schema of a summary names exactly its fields and takes one", () => {
  expect(namedFields(agentSummary)).toEqual(Object.keys(summary).sort());
  expect(Compile(agentSummary).Check(summary satisfies Static<typeof agentSummary>)).toBe(true);
});
