/** Commands that read a transcript and the work in progress. */
import type { AgentReads } from "@sand/agent-core";
import type { AgentId } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { AgentDirectory, HostStatus } from "../host-ports.ts";
import { parseAgentId } from "./agent-ids.ts";
import { readOutline } from "./read-outline.ts";
import {
  readActiveTranscript,
  readPage,
  readSpan,
  readThread,
  readTranscript,
  readWindow,
} from "./read-page.ts";

type TranscriptHandlers = Pick<
  CommandHandlers,
  | "getTranscript"
  | "getAgentTranscript"
  | "getAgentTranscriptTail"
  | "getAgentTranscriptPage"
  | "getAgentTranscriptWindow"
  | "getAgentThread"
  | "getConversationOutline"
  | "openAgent"
  | "openAgentTail"
  | "openAgentWindowed"
  | "getSubagents"
  | "getAsyncTasks"
>;

export function createTranscriptHandlers(directory: AgentDirectory, status: HostStatus): TranscriptHandlers {
  const readsOf = (id: string): Promise<AgentReads> => directory.reads(parseAgentId(id));

  /** Makes the agent active; an agent that can't be read is not opened. */
  async function opened(id: string): Promise<AgentReads> {
    const reads = await readsOf(id);
    await directory.activate(parseAgentId(id));
    return reads;
  }

  return {
    getTranscript: () => readActiveTranscript(directory),
    getAgentTranscript: async ({ id }) => readTranscript(await readsOf(id)),
    getAgentTranscriptTail: async ({ id, ...page }) => readPage(await readsOf(id), page),
    getAgentTranscriptPage: async ({ id, ...span }) => readSpan(await readsOf(id), span),
    getAgentTranscriptWindow: async ({ id, ...page }) => readWindow(await readsOf(id), page),
    getAgentThread: async ({ id, rootId }) => ({ entries: readThread(await readsOf(id), rootId) }),
    getConversationOutline: async ({ id }) => readOutline(await readsOf(id)),
    openAgent: async ({ id }) => readTranscript(await opened(id)),
    openAgentTail: async ({ id, ...page }) => readPage(await opened(id), page),
    openAgentWindowed: async ({ id, ...page }) => readWindow(await opened(id), page),
    getSubagents: async ({ id }) => [...(await status.subagents(knownAgentId(directory, id)))],
    getAsyncTasks: async ({ id }) => [...(await status.asyncTasks(knownAgentId(directory, id)))],
  };
}

/** An agent without work and one that isn't there must not look the same. */
function knownAgentId(directory: AgentDirectory, text: string): AgentId {
  return directory.summary(parseAgentId(text)).id;
}
