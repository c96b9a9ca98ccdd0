/** Commands that read a transcript, the work in progress, and the host's own state. */
import type { AgentId } from "@sand/protocol";
import type { CommandHandlers } from "../command-handlers.ts";
import type { AgentDirectory, HostStatus } from "../host-ports.ts";
import { parseAgentId } from "./agent-ids.ts";
import { readActiveTranscript, readPage } from "./read-page.ts";

type TranscriptHandlers = Pick<
  CommandHandlers,
  | "getTranscript"
  | "getAgentTranscriptTail"
  | "openAgentTail"
  | "getSubagents"
  | "getAsyncTasks"
  | "getHostStatus"
>;

/** what clients may rely on beyond the oldest hosts */
const capabilities = ["sendAcceptanceV1"];

export function createTranscriptHandlers(directory: AgentDirectory, status: HostStatus): TranscriptHandlers {
  return {
    getTranscript: () => readActiveTranscript(directory),
    async getAgentTranscriptTail({ id, ...page }) {
      return readPage(await directory.reads(parseAgentId(id)), page);
    },
    async openAgentTail({ id, ...page }) {
      const agentId = parseAgentId(id);
      const reads = await directory.reads(agentId);
      await directory.activate(agentId);
      return readPage(reads, page);
    },
    getSubagents: async ({ id }) => [...(await status.subagents(knownAgentId(directory, id)))],
    getAsyncTasks: async ({ id }) => [...(await status.asyncTasks(knownAgentId(directory, id)))],
    getHostStatus: async () => ({
      hostVersion: status.version,
      // Nobody asks a server for newer versions, so none is known.
      latestHostVersion: null,
      hostUpdateAvailable: null,
      isBusy: status.isBusy(),
      capabilities: [...capabilities],
    }),
  };
}

/** An agent without work and one that isn't there must not look the same. */
function knownAgentId(directory: AgentDirectory, text: string): AgentId {
  return directory.summary(parseAgentId(text)).id;
}
