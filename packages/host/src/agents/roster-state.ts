/**
 * What the roster shows of a conversation, kept in the agent's store and changed in the transaction that appends an
 * entry. So a summary costs a few reads by key, however long the conversation is.
 */
import type { AgentTx } from "@sand/agent-core";
import type { EntryId, JsonObject, JsonValue, TranscriptEntry } from "@sand/protocol";

const rosterKey = "roster";
const unreadKey = "unreadState";
const previewMaxLength = 200;

export interface RosterState {
  readonly lastEntry: TranscriptEntry | null;
  readonly lastMessageId: EntryId | null;
  readonly lastMessagePreview: string | null;
  readonly lastMessageAuthorId: string | null;
  readonly newestEntryId: EntryId | null;
  readonly lastActivityAt: number | null;
}

export interface UnreadState {
  readonly count: number;
  readonly lastViewedAt: number | null;
}

const emptyRoster: RosterState = {
  lastEntry: null,
  lastMessageId: null,
  lastMessagePreview: null,
  lastMessageAuthorId: null,
  newestEntryId: null,
  lastActivityAt: null,
};

interface ValueReads {
  getValue(key: string): JsonValue | undefined;
}

export function readRoster(reads: ValueReads): RosterState {
  const stored = reads.getValue(rosterKey);
  // Written by `appendEntry` below only, so the stored object has this shape.
  return isObject(stored) ? { ...emptyRoster, ...(stored as object) } : emptyRoster;
}

export function readUnread(reads: ValueReads): UnreadState {
  const stored = reads.getValue(unreadKey);
  if (!isObject(stored)) return { count: 0, lastViewedAt: null };
  const { count, lastViewedAt } = stored;
  return {
    count: typeof count === "number" ? count : 0,
    lastViewedAt: typeof lastViewedAt === "number" ? lastViewedAt : null,
  };
}

export function markViewed(tx: AgentTx, atMs: number): void {
  tx.setValue(unreadKey, { count: 0, lastViewedAt: atMs });
}

/** Shows the agent as unread, whatever was seen of it; what came in unseen stays counted. */
export function markUnread(tx: AgentTx, viewedAtMs: number | null): void {
  const before = readUnread(tx);
  tx.setValue(unreadKey, {
    count: Math.max(before.count, 1),
    lastViewedAt: viewedAtMs ?? before.lastViewedAt,
  });
}

/** Appends an entry and keeps the roster's view of it. `isViewed`: somebody has this agent open. */
export function appendEntry(tx: AgentTx, entry: TranscriptEntry, isViewed: boolean): void {
  tx.appendEntry(entry);
  const before = readRoster(tx);
  const moved = { ...before, newestEntryId: entry.id, lastActivityAt: entry.timestampMs };
  if (entry.kind === "tool-call") {
    tx.setValue(rosterKey, asJson(moved));
    return;
  }
  const line = entry.kind === "send-message" ? entry.message.content : entry.content;
  tx.setValue(
    rosterKey,
    asJson({
      ...moved,
      lastEntry: shorten(entry),
      lastMessageId: entry.id,
      lastMessagePreview: line.slice(0, previewMaxLength),
      lastMessageAuthorId: entry.kind === "message" ? "user" : null,
    }),
  );
  if (entry.kind === "send-message" && !isViewed) {
    const unread = readUnread(tx);
    tx.setValue(unreadKey, { count: unread.count + 1, lastViewedAt: unread.lastViewedAt });
  }
}

/** The roster repeats the last entry in every summary, so a long one is cut there; the transcript has it whole. */
function shorten(entry: Exclude<TranscriptEntry, { kind: "tool-call" }>): TranscriptEntry {
  if (entry.kind === "send-message") {
    return {
      ...entry,
      message: { ...entry.message, content: entry.message.content.slice(0, previewMaxLength) },
    };
  }
  return { ...entry, content: entry.content.slice(0, previewMaxLength) };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Drops what JSON can't hold; entries are plain data. */
function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
