/**
 * The rows of messages and files in the search index, each with its words.
 *
 * A row carries a checksum of all that a hit can show, so that a damaged one is noticed before it is shown.
 */
import { crc32 } from "node:zlib";
import type { JsonObject } from "@sand/protocol";
import type { Connection } from "../sqlite.ts";
import { snippetScanMaxChars } from "./cut-snippet.ts";
import { separateWords } from "./search-text.ts";
import { type MediaPart, type MessagePart, searchableParts } from "./searchable-parts.ts";

export interface PlacedEntry {
  readonly agentId: string;
  readonly entryId: string;
  readonly seq: number;
  /** nothing takes the entry's rows away */
  readonly entry: JsonObject | undefined;
}

export interface MessageRows {
  /** Makes the rows of one entry what the entry says. Returns the characters that were put in. */
  put(placed: PlacedEntry): number;
  /** Removes some rows of an agent; returns how many. */
  removeSome(agentId: string, limit: number): number;
}

/** ids that one millisecond has before they run into the next one's */
const idsPerMs = 1_024;

export interface ShownFields {
  readonly agentId: string;
  readonly entryId: string;
  readonly role: string;
  readonly timestampMs: number;
  readonly body: string;
}

export function checksumOf({ agentId, entryId, role, timestampMs, body }: ShownFields): number {
  return crc32([agentId, entryId, role, timestampMs, body.slice(0, snippetScanMaxChars)].join("\0"));
}

export function createMessageRows(connection: Connection): MessageRows {
  const messages = writeMessages(connection);
  const media = writeMedia(connection);
  return {
    put(placed) {
      const parts = placed.entry === undefined ? undefined : searchableParts(placed.entry);
      return messages.put(placed, parts?.message) + media.put(placed, parts?.media ?? []);
    },
    removeSome(agentId, limit) {
      const removed = messages.removeSome(agentId, limit);
      return removed + media.removeSome(agentId, limit - removed);
    },
  };
}

interface FoundMessage {
  readonly id: number;
  readonly checksum: number;
}

function writeMessages(connection: Connection) {
  const find = connection.prepare<unknown[], FoundMessage>(
    "SELECT id, checksum FROM messages WHERE agent_id = ? AND entry_id = ?",
  );
  const some = connection
    .prepare<unknown[], number>("SELECT id FROM messages WHERE agent_id = ? LIMIT ?")
    .pluck();
  const insert = connection.prepare(
    `INSERT INTO messages (id, agent_id, entry_id, role, timestamp_ms, body, checksum)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertWords = connection.prepare("INSERT INTO message_words (rowid, words) VALUES (?, ?)");
  const remove = connection.prepare("DELETE FROM messages WHERE id = ?");
  const removeWords = connection.prepare("DELETE FROM message_words WHERE rowid = ?");
  const placeId = createPlaceId(connection);

  function drop(id: number): void {
    removeWords.run(id);
    remove.run(id);
  }

  return {
    put({ agentId, entryId, seq }: PlacedEntry, part: MessagePart | undefined): number {
      const found = find.get(agentId, entryId);
      if (part === undefined) {
        if (found !== undefined) drop(found.id);
        return 0;
      }
      const { role, timestampMs, body } = part;
      const checksum = checksumOf({ agentId, entryId, ...part });
      if (found?.checksum === checksum) return 0;
      if (found !== undefined) drop(found.id);
      const id = placeId(timestampMs, seq);
      insert.run(id, agentId, entryId, role, timestampMs, body, checksum);
      insertWords.run(id, separateWords(body));
      return body.length;
    },
    removeSome(agentId: string, limit: number): number {
      const ids = some.all(agentId, limit);
      for (const id of ids) drop(id);
      return ids.length;
    },
  };
}

/**
 * A free id at its time. The place within a millisecond comes from `seq`, so that a rebuild gives the same order. Only
 * entries of other hosts, whose numbers aren't ours, meet on one place; they take the next free one.
 */
function createPlaceId(connection: Connection): (timestampMs: number, seq: number) => number {
  const taken = connection.prepare<unknown[], number>("SELECT 1 FROM messages WHERE id = ?").pluck();
  const highest = connection
    .prepare<unknown[], number>("SELECT coalesce(max(id), 0) FROM messages WHERE id < ?")
    .pluck();
  return (timestampMs, seq) => {
    const base = timestampMs * idsPerMs;
    for (const id of [base + (seq % idsPerMs), base + (seq % 2 ** 40)])
      if (taken.get(id) === undefined) return id;
    let end = base + idsPerMs;
    for (;;) {
      const next = Math.max(highest.get(end) ?? 0, base) + 1;
      if (next < end) return next;
      end += (end - base) * 2;
    }
  };
}

function writeMedia(connection: Connection) {
  const find = connection
    .prepare<unknown[], number>("SELECT id FROM media WHERE agent_id = ? AND entry_id = ?")
    .pluck();
  const some = connection
    .prepare<unknown[], number>("SELECT id FROM media WHERE agent_id = ? LIMIT ?")
    .pluck();
  const insert = connection.prepare(
    `INSERT INTO media (agent_id, entry_id, file_name, ext, mime, kind, timestamp_ms, width, height)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertWords = connection.prepare("INSERT INTO media_words (rowid, words) VALUES (?, ?)");
  const remove = connection.prepare("DELETE FROM media WHERE id = ?");
  const removeWords = connection.prepare("DELETE FROM media_words WHERE rowid = ?");

  function drop(id: number): void {
    removeWords.run(id);
    remove.run(id);
  }

  return {
    put({ agentId, entryId }: PlacedEntry, parts: readonly MediaPart[]): number {
      for (const id of find.all(agentId, entryId)) drop(id);
      for (const { fileName, ext, mime, kind, timestampMs, width, height } of parts) {
        const made = insert.run(agentId, entryId, fileName, ext, mime, kind, timestampMs, width, height);
        insertWords.run(made.lastInsertRowid, separateWords(fileName));
      }
      return parts.reduce((chars, { fileName }) => chars + fileName.length, 0);
    },
    removeSome(agentId: string, limit: number): number {
      const ids = limit <= 0 ? [] : some.all(agentId, limit);
      for (const id of ids) drop(id);
      return ids.length;
    },
  };
}
