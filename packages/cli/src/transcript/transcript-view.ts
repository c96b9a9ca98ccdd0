/**
 * Transcript entries on the way to a reader: as JSON, one entry a line as the gateway sent it, or as a conversation.
 * An entry that comes again unchanged, from a replay or a page, is shown once.
 */
import { createHash } from "node:crypto";
import { readEntry, readFrame } from "../chat/feed-event.ts";
import { createFeedRenderer } from "../chat/render-feed.ts";
import type { Terminal } from "../terminal.ts";
import type { RawEntry } from "./transcript-pages.ts";

export interface TranscriptView {
  entry(entry: RawEntry): void;
  /** what isn't an entry: streamed text and output, for people only */
  frame(channel: string, payload: Readonly<Record<string, unknown>>, agentId: string): void;
  /** the host went away, or is back */
  connection(state: "lost" | "restored"): void;
  /** the newest position that was shown */
  newestSeq(): number | undefined;
  /** whether an entry lies before all that was asked for */
  isOlder(entry: RawEntry): boolean;
}

const rememberedEntriesMax = 5_000;

export function createTranscriptView(terminal: Terminal): TranscriptView {
  const renderer = createFeedRenderer({ paint: terminal.paint, isOwnNonce: () => false });
  const looks = new Map<unknown, string>();
  let newest: number | undefined;
  let oldest = Number.POSITIVE_INFINITY;

  const isNews = (entry: RawEntry): boolean => {
    const look = createHash("sha1").update(JSON.stringify(entry)).digest("base64");
    if (looks.get(entry.id) === look) return false;
    looks.delete(entry.id);
    looks.set(entry.id, look);
    const eldest = looks.keys().next();
    if (looks.size > rememberedEntriesMax && eldest.done !== true) looks.delete(eldest.value);
    return true;
  };

  return {
    newestSeq: () => newest,
    isOlder: (entry) => newest !== undefined && typeof entry.seq === "number" && entry.seq < oldest,
    entry: (entry) => {
      if (typeof entry.seq === "number") {
        newest = Math.max(newest ?? 0, entry.seq);
        oldest = Math.min(oldest, entry.seq);
      }
      if (terminal.json) {
        if (isNews(entry)) terminal.result(entry);
        return;
      }
      const read = readEntry(entry);
      if (read !== undefined) terminal.write(renderer.render({ kind: "entry", entry: read }));
    },
    connection: (state) => terminal.write(renderer.render({ kind: "connection", state })),
    frame: (channel, payload, agentId) => {
      const event = readFrame(channel, payload, agentId);
      if (event !== undefined && event.kind !== "entry") terminal.write(renderer.render(event));
    },
  };
}
