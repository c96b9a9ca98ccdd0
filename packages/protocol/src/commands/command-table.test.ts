import { expect, test } from "vitest";
import { builtCommands, findCommand } from "./command-table.ts";
import { plannedCommandNames } from "./planned-commands.ts";

const builtNow = [
  "listAgents",
  "countAgents",
  "createAgent",
  "updateAgent",
  "deleteAgent",
  "deleteAgents",
  "openAgentTail",
  "getTranscript",
  "getAgentTranscriptTail",
  "sendPrompt",
  "promptAcceptanceStatus",
  "interruptAgentRun",
  "getHostStatus",
  "getAsyncTasks",
  "getSubagents",
  "openAgent",
  "openAgentWindowed",
  "getAgentTranscript",
  "getAgentTranscriptPage",
  "getAgentTranscriptWindow",
  "getAgentThread",
  "getConversationOutline",
  "setAgentUnread",
  "setAgentNotificationsEnabled",
  "setAgentNotifyOnUpdates",
  "setAgentHiddenFromSidebar",
  "getHostSettings",
  "setHostSettings",
  "isGlobalSearchEnabled",
  "isEgressTunnelAvailable",
  "isAgentNetworkEnabled",
  "listGatewayServices",
  "getBoxStoreStatus",
  "snapshotBoxStoreNow",
  "clearBoxStoreNow",
  "searchAgents",
  "searchMedia",
  "getSearchStatus",
  "rebuildSearch",
];

test("the table holds exactly the commands that are built, and all others of the contract as planned", () => {
  expect(Object.keys(builtCommands).sort()).toEqual([...builtNow].sort());
  // 76 commands of the contract, the 15 that the seeds add, listGatewayServices, and two of the search.
  expect(builtNow.length + plannedCommandNames.length).toBe(94);
  expect(new Set([...builtNow, ...plannedCommandNames]).size).toBe(94);
});

test.each(["noSuchCommand", "__proto__", "constructor", "toString", ""])("%j is no command", (name) => {
  expect(findCommand(name)).toBeUndefined();
});
