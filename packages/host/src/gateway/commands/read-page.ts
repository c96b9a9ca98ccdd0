/** Pages of a transcript as clients see them: oldest entry first, each with its position. */
import type { AgentReads, StoredEntry } from "@sand/agent-core";
import { limits, type TranscriptEntry, type TranscriptPage, tailLimit } from "@sand/protocol";
import type { AgentDirectory } from "../host-ports.ts";

export interface PageRequest {
  readonly limit?: number;
  readonly beforeSeq?: number;
}

/** `nextBeforeSeq` is there only when older entries are. */
export function readPage(reads: AgentReads, request: PageRequest): TranscriptPage {
  const { entries, more } = reads.entriesBefore({
    limit: tailLimit(request.limit),
    ...(request.beforeSeq === undefined ? {} : { beforeSeq: request.beforeSeq }),
  });
  const oldest = entries[0];
  const cursor = more && oldest !== undefined ? { nextBeforeSeq: oldest.seq } : {};
  return { entries: entries.map(withSeq), ...cursor };
}

/** The newest entries of the active agent; none when no agent is active. */
export async function readActiveTranscript(directory: AgentDirectory): Promise<TranscriptEntry[]> {
  const active = directory.activeAgentId();
  if (active === null) return [];
  return readPage(await directory.reads(active), { limit: limits.transcriptTailMax }).entries;
}

function withSeq({ entry, seq }: StoredEntry): TranscriptEntry {
  return { ...entry, seq };
}
