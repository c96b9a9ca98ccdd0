/**
 * Transcript entries as clients see them (contract gateway §4.2). An entry is stored as this JSON and changes only by
 * an `updated` event. Ours beyond the contract are marked; clients ignore fields that they don't know.
 */
import type { ClientNonce, EntryId, RequestId, TurnId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

/** a line that somebody wrote; the user's prompt has role `user` and its text unchanged */
export interface MessageEntry {
  readonly kind: "message";
  readonly id: EntryId;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly timestampMs: number;
  readonly requestId?: RequestId;
  readonly clientNonce?: ClientNonce;
  readonly replyToId?: string;
  /** ours: the position of the entry, also in the paging cursor */
  readonly seq?: number;
}

/** how an agent's answer appears */
export interface SendMessageEntry {
  readonly kind: "send-message";
  readonly id: EntryId;
  readonly message: { readonly type: "text"; readonly content: string };
  readonly requestId: RequestId;
  readonly timestampMs: number;
  readonly seq?: number;
}

export type ToolCallStatus =
  | "pending"
  | "running"
  | "completed"
  | "failed"
  | "interrupted"
  | "denied"
  | "unknown";

export interface ToolCallEntry {
  readonly kind: "tool-call";
  readonly id: EntryId;
  readonly name: string;
  readonly status: ToolCallStatus;
  readonly summary: string;
  readonly argsPreview: string;
  readonly outputHandle: string | null;
  readonly timestampMs: number;
  /** ours: the head and tail of the output, as the model reads it */
  readonly outputPreview?: string;
  readonly turnId?: TurnId;
  readonly seq?: number;
}

/** something about the conversation that the user should know: a retry given up, a box that is absent, a turn cut short */
export interface NoticeEntry {
  readonly kind: "notice";
  readonly id: EntryId;
  readonly level: "info" | "warning" | "error";
  readonly code: string;
  readonly content: string;
  readonly timestampMs: number;
  readonly details?: JsonObject;
  readonly seq?: number;
}

export type TranscriptEntry = MessageEntry | SendMessageEntry | ToolCallEntry | NoticeEntry;
