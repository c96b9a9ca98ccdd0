/** Pages of a transcript as clients see them: oldest entry first, each with its position. */
import type { AgentReads, EntryPage, PageBounds, StoredEntry } from "@sand/agent-core";
import {
  brandId,
  type EntryId,
  limits,
  type TranscriptEntry,
  type TranscriptPage,
  type TranscriptWindow,
  tailLimit,
} from "@sand/protocol";
import type { AgentDirectory } from "../host-ports.ts";

export interface PageRequest {
  readonly limit?: number;
  readonly beforeSeq?: number;
}

export interface SpanRequest extends PageRequest {
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

export function readPage(reads: AgentReads, request: PageRequest): TranscriptPage {
  return shownPage(reads.entriesBefore(boundsOf(request)));
}

/** A page of a span of time; without a span, the page that `readPage` gives. */
export function readSpan(reads: AgentReads, request: SpanRequest): TranscriptPage {
  const { sinceMs, untilMs } = request;
  if (sinceMs === undefined && untilMs === undefined) return readPage(reads, request);
  return shownPage(
    reads.entriesInSpan({
      ...boundsOf(request),
      ...(sinceMs === undefined ? {} : { sinceMs }),
      ...(untilMs === undefined ? {} : { untilMs }),
    }),
  );
}

/** A page of the conversation without tool calls and branches, with how often its entries were replied to. */
export function readWindow(reads: AgentReads, request: PageRequest): TranscriptWindow {
  const page = reads.windowBefore(boundsOf(request));
  const counts = page.entries.flatMap(({ entry }) => {
    const replies = reads.countReplies(entry.id);
    return replies === 0 ? [] : [[entry.id, replies] as const];
  });
  return {
    ...shownPage(page),
    ...(counts.length === 0 ? {} : { threadCounts: Object.fromEntries(counts) }),
  };
}

/** The root and what replies to it, oldest first; nothing when there is no such entry. */
export function readThread(reads: AgentReads, rootId: string): TranscriptEntry[] {
  const id = brandId<EntryId>(rootId);
  const root = reads.findEntry(id);
  if (root === undefined) return [];
  return [root, ...reads.repliesTo(id, limits.transcriptTailMax - 1)].map(withSeq);
}

/** The newest entries of an agent, as many as a page holds at most. */
export function readTranscript(reads: AgentReads): TranscriptEntry[] {
  return readPage(reads, { limit: limits.transcriptTailMax }).entries;
}

/** The same of the active agent; none when no agent is active. */
export async function readActiveTranscript(directory: AgentDirectory): Promise<TranscriptEntry[]> {
  const active = directory.activeAgentId();
  return active === null ? [] : readTranscript(await directory.reads(active));
}

function boundsOf({ limit, beforeSeq }: PageRequest): PageBounds {
  return { limit: tailLimit(limit), ...(beforeSeq === undefined ? {} : { beforeSeq }) };
}

/** `nextBeforeSeq` is there only when older entries are. */
function shownPage({ entries, more }: EntryPage): TranscriptPage {
  const oldest = entries[0];
  const cursor = more && oldest !== undefined ? { nextBeforeSeq: oldest.seq } : {};
  return { entries: entries.map(withSeq), ...cursor };
}

function withSeq({ entry, seq }: StoredEntry): TranscriptEntry {
  return { ...entry, seq };
}
