/** What each built command does, in one sentence: for the reference, the OpenAPI document and the client's comments. */
import type { BuiltCommandName } from "./command-table.ts";

export const commandNotes: Readonly<Record<BuiltCommandName, string>> = {
  listAgents: "All agents, as rows of the roster.",
  countAgents: "How many agents there are.",
  createAgent: "Makes an agent; the same clientNonce with the same payload gives the same agent again.",
  updateAgent: "Changes an agent's profile; null when no such agent exists.",
  deleteAgent: "Deletes an agent with all it has; a repeated delete succeeds.",
  deleteAgents: "Deletes several agents; ids that no agent has are passed over.",
  setAgentUnread: "Marks an agent as read or unread.",
  setAgentNotificationsEnabled: "Switches an agent's notifications on or off.",
  setAgentNotifyOnUpdates: "Sets whether an agent's updates notify.",
  setAgentHiddenFromSidebar: "Shows an agent in the sidebar or hides it there.",
  interruptAgentRun: "Ends the running turn, with what it has.",
  sendPrompt:
    "Accepts a prompt durably, before any inference; a repeat under the same clientNonce runs nothing twice.",
  promptAcceptanceStatus: "What became of a prompt that was sent under a clientNonce.",
  getTranscript: "The newest entries of the active agent, oldest first.",
  getAgentTranscript: "The newest entries of an agent, oldest first, 5,000 at most.",
  getAgentTranscriptTail: "A page of an agent's newest entries; beforeSeq pages backwards.",
  getAgentTranscriptPage: "A page of the entries of a span of time, both ends included.",
  getAgentTranscriptWindow: "A page without tool calls and branches, with how often entries were replied to.",
  getAgentThread: "An entry and the entries that reply to it, oldest first.",
  getConversationOutline:
    "The newest part of a conversation in short lines, with thinking and text beside calls.",
  openAgent: "Makes an agent active and returns its newest entries.",
  openAgentTail: "Makes an agent active and returns a page of its newest entries.",
  openAgentWindowed: "Makes an agent active and returns a page without tool calls and branches.",
  getSubagents: "The subagents that work for an agent now.",
  getAsyncTasks: "What runs in the background for an agent now.",
  getHostStatus: "The host's version, whether it is busy, and what clients may rely on.",
  listGatewayServices: "The names of all commands that this host answers.",
  isGlobalSearchEnabled: "Whether search over all agents is there.",
  isEgressTunnelAvailable: "Whether an egress tunnel is there.",
  isAgentNetworkEnabled: "Whether agents can write to each other.",
  getBoxStoreStatus: "How the last snapshot of the host's state went, and what it holds.",
  snapshotBoxStoreNow: "Takes a snapshot of the host's state; nothing is copied that the store has already.",
  clearBoxStoreNow: "Takes every snapshot out of the box store and gives it up.",
  getHostSettings: "The host's settings as one object.",
  searchAgents:
    "Messages of all agents that hold the query's words, newest first; the last word may be a beginning.",
  searchMedia: "Files in all agents' conversations whose name holds the query's words, newest first.",
  getSearchStatus: "Whether the search knows all that agents hold, and how far it is.",
  rebuildSearch: "Makes the search index anew in the background; it answers what is in it meanwhile.",
  setHostSettings:
    "Changes the settings that a patch names, and returns all of them; null takes an optional one away.",
};
