/**
 * Answers searches from the index. Newest first: the words' own order by row is the order in time, so a common word
 * costs no more than a rare one, and nothing is ranked.
 *
 * A hit whose row doesn't fit its checksum is damage, and told as such; it is never shown.
 */
import { BoxError, limits, type MediaHit, type SearchHit } from "@sand/protocol";
import type { Connection } from "../sqlite.ts";
import { cutSnippet, snippetScanMaxChars } from "./cut-snippet.ts";
import { checksumOf } from "./message-rows.ts";
import { toMatch } from "./search-text.ts";

export interface SearchReads {
  messages(query: string, limit: number): readonly SearchHit[];
  media(query: string, limit: number): readonly MediaHit[];
}

interface MessageRow {
  readonly agentId: string;
  readonly entryId: string;
  readonly role: "user" | "assistant";
  readonly timestampMs: number;
  readonly body: string;
  readonly checksum: number;
}

export function createSearchReads(connection: Connection): SearchReads {
  const messages = connection.prepare<unknown[], MessageRow>(
    `SELECT agent_id AS agentId, entry_id AS entryId, role, timestamp_ms AS timestampMs,
            substr(body, 1, ${snippetScanMaxChars}) AS body, checksum
     FROM message_words JOIN messages ON messages.id = message_words.rowid
     WHERE words MATCH ? ORDER BY message_words.rowid DESC LIMIT ?`,
  );
  const media = connection.prepare<unknown[], MediaHit>(
    `SELECT agent_id AS agentId, entry_id AS entryId, file_name AS fileName, ext, mime, kind,
            timestamp_ms AS timestampMs, width, height
     FROM media_words JOIN media ON media.id = media_words.rowid
     WHERE words MATCH ? ORDER BY timestamp_ms DESC, media.id DESC LIMIT ?`,
  );
  return {
    messages(query, limit) {
      const match = toMatch(query);
      if (match === undefined) return [];
      return messages.all(match, boundedLimit(limit)).map((row) => {
        const { checksum, body, ...shown } = row;
        if (checksumOf(row) !== checksum) throw damagedRow();
        return { ...shown, snippet: cutSnippet(body, query) };
      });
    },
    media(query, limit) {
      const match = toMatch(query);
      return match === undefined ? [] : media.all(match, boundedLimit(limit));
    },
  };
}

function boundedLimit(limit: number): number {
  return Math.min(Math.max(Math.trunc(limit), 0), limits.searchHitsMax);
}

function damagedRow(): BoxError {
  return new BoxError("store/damaged", "a row of the search index is damaged");
}
