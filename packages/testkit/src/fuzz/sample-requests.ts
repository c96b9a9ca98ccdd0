/**
 * A sound example of each thing that a client can ask of the gateway and the daemon: where a mutation begins.
 *
 * Nothing here or in what grows from it can hurt the machine that runs it: commands only end at once, paths stay in
 * the world's folder.
 */
import { type BuiltCommandName, builtCommands, isBuiltCommand, type JsonObject } from "@sand/protocol";
import type { FuzzTarget } from "./fuzz-target.ts";
import { policyBodies, shellBodies } from "./sample-shells.ts";

export interface SampleIds {
  readonly agentId: string;
  readonly nonce: string;
}

const readingBodies = ({ agentId }: SampleIds) => ({
  listAgents: {},
  countAgents: {},
  getTranscript: {},
  getAgentTranscriptTail: { id: agentId, limit: 10, beforeSeq: 100 },
  getAgentTranscript: { id: agentId },
  getAgentTranscriptPage: { id: agentId, limit: 10, beforeSeq: 100, sinceMs: 1, untilMs: 2_000_000_000_000 },
  getAgentTranscriptWindow: { id: agentId, limit: 10, beforeSeq: 100 },
  getAgentThread: { id: agentId, rootId: "entry" },
  getConversationOutline: { id: agentId },
  openAgent: { id: agentId },
  openAgentTail: { id: agentId, limit: 10 },
  openAgentWindowed: { id: agentId, limit: 10 },
  getSubagents: { id: agentId },
  getAsyncTasks: { id: agentId },
  getHostStatus: {},
  getHostSettings: {},
  isGlobalSearchEnabled: {},
  searchAgents: { query: 'hello "wide world" pre', limit: 5 },
  searchMedia: { query: "picture.png", limit: 5 },
  getSearchStatus: {},
  isEgressTunnelAvailable: {},
  isAgentNetworkEnabled: {},
  listGatewayServices: {},
  getBoxStoreStatus: {},
  snapshotBoxStoreNow: {},
  clearBoxStoreNow: {},
});

const changingBodies = ({ agentId, nonce }: SampleIds) => ({
  rebuildSearch: {},
  createAgent: {
    name: "fuzzed",
    description: "made by the fuzz",
    title: "",
    avatarShape: "blob",
    avatarColor: "red",
    origin: "user",
    clientNonce: nonce,
    purpose: "disk-saver",
    templateId: "a-b",
    isIntroductionSuppressed: true,
  },
  updateAgent: { id: agentId, profile: { name: "fuzzed", description: "", title: "x", avatarShape: null } },
  deleteAgent: { id: "no-such-agent" },
  deleteAgents: { ids: ["no-such-agent", "nor-this-one"] },
  interruptAgentRun: { id: agentId },
  sendPrompt: {
    prompt: "script:say hello",
    agentId,
    clientNonce: nonce,
    attachmentPaths: [],
    attachmentNames: [],
    richText: { type: "doc", content: [] },
    replyToId: "entry",
    isFork: false,
    whenBusy: "queue",
    enterEpochMs: 1,
  },
  promptAcceptanceStatus: { accountSlot: "host", clientNonce: nonce, agentId },
  setAgentUnread: { id: agentId, isUnread: true, atMs: 1 },
  setAgentNotificationsEnabled: { id: agentId, isEnabled: true },
  setAgentNotifyOnUpdates: { id: agentId, isEnabled: false },
  setAgentHiddenFromSidebar: { id: agentId, isHidden: false },
  setHostSettings: {
    notifications: { isEnabled: true, allowedApps: ["a"], minIntervalMs: 1 },
    mcpCustomInstructionsByServerId: { server: "text" },
    sidebarSections: [{ title: "t" }],
    agentDefaultModel: { modelId: "m", parameters: [{ id: "p", value: 1 }] },
    pinnedAgentIds: [agentId],
    userTimeZone: null,
  },
});

const commandBodies = (ids: SampleIds): Readonly<Record<BuiltCommandName, JsonObject>> => ({
  ...readingBodies(ids),
  ...changingBodies(ids),
});

const routes: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/health"],
  ["GET", "/events"],
  ["POST", "/events/echo?nonce=abc"],
  ["GET", "/avatars/agent?v=1"],
  ["POST", "/prepare-upgrade"],
  ["GET", "/local-exec/requests"],
  ["POST", "/local-exec/responses"],
  ["GET", "/webauthn/requests"],
  ["POST", "/webauthn/responses"],
  ["GET", "/cookie-origin-approval/requests"],
  ["POST", "/cookie-origin-approval/responses"],
  ["POST", "/api/searchAgents"],
  ["POST", "/api/noSuchCommand"],
];

export function gatewayTargets(ids: SampleIds): readonly FuzzTarget[] {
  const bodies = commandBodies(ids);
  const commands = Object.keys(builtCommands)
    .filter(isBuiltCommand)
    .map(
      (name): FuzzTarget => ({
        name,
        server: "gateway",
        method: "POST",
        path: `/api/${name}`,
        body: bodies[name],
        isOpenEnded: false,
      }),
    );
  return [
    ...commands,
    ...routes.map(
      ([method, path]): FuzzTarget => ({
        name: `${method} ${path.split("?")[0]}`,
        server: "gateway",
        method,
        path,
        body: method === "POST" ? {} : undefined,
        isOpenEnded: path === "/events",
      }),
    ),
  ];
}

const procedureBodies: Readonly<Record<string, JsonObject>> = {
  "Processes/Start": {
    processId: "fuzz-1",
    shell: "exit 3",
    cwd: "",
    env: { FUZZ: "1" },
    user: "",
    tty: false,
    stdin: false,
    sandbox: { writableRoots: [], maskedPaths: [] },
    lineage: { agentId: "a", turnId: "t" },
    background: false,
    killMs: 1000,
  },
  "Processes/Attach": { processId: "fuzz-1", after: { seq: 0, stdout: 0, stderr: 0 } },
  "Processes/Read": { processId: "fuzz-1", after: { seq: 0 }, waitMs: 0, maxBytes: 100 },
  "Processes/Write": { processId: "fuzz-1", offset: 0, data: "aGk=" },
  "Processes/CloseStdin": { processId: "fuzz-1" },
  "Processes/Signal": { processId: "fuzz-1", name: "SIGTERM", scope: 2, killAfterMs: 100 },
  "Processes/Wait": { processId: "fuzz-1", waitMs: 0 },
  "Processes/List": { lineage: { agentId: "a" } },
  "Processes/Forget": { processId: "fuzz-1" },
  "Control/Ping": { nonce: "n" },
  "Control/Capabilities": {},
  "Control/RefreshEnvironment": { set: { FUZZ: "1" }, unset: ["FUZZ_TOO"], replace: false },
  "Control/SyncSecrets": { scope: "agent:fuzz", values: { FUZZ: "1" } },
  "Control/ResourceUsage": { processes: true },
  "Control/ListeningPorts": { all: true },
  "Control/InstallPlugin": {
    name: "fuzz",
    files: [{ path: "plugin.json", data: btoa('{"name":"fuzz"}'), executable: false }],
  },
  "Control/RemovePlugin": { name: "fuzz" },
  "Control/ListPlugins": {},
};

const samplePatch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
const upload = { path: "uploaded.txt", uploadId: "u" };
const fileBodies: Readonly<Record<string, JsonObject>> = {
  "Files/Read": { path: "fuzzed.txt", offset: 0, lengthMax: 100, noDigest: true, expectedVersion: "" },
  "Files/Write": { path: "fuzzed.txt", data: "aGk=", precondition: "", operationId: "op-1", mode: 420 },
  "Files/Append": { path: "appended.txt", data: "aGk=", expectedSizeBytes: 0 },
  "Files/List": { path: "", depth: 1, entriesMax: 10, pageToken: "YQ==" },
  "Files/ListStream": { path: "", pathBytes: "", depth: 1 },
  "Files/Stat": { path: "fuzzed.txt", follow: true },
  "Files/Grep": {
    ...{ pattern: "a", literal: false, path: "", globs: ["*.txt"], contextLines: 1, matchesMax: 5 },
    ...{ word: true, multiline: false, types: ["c"], skipMatches: 1, deadlineMs: 1000 },
  },
  "Files/Glob": { pattern: "*.txt", path: "", filesMax: 5, skipFiles: 1, deadlineMs: 1000 },
  "Files/Make": { path: "made", mode: 448 },
  "Files/Link": { path: "linked", target: "fuzzed.txt", overwrite: true },
  "Files/Move": { path: "moved", destination: "moved-to", overwrite: true },
  "Files/Copy": { path: "fuzzed.txt", destination: "copied.txt", overwrite: true },
  "Files/Remove": { path: "copied.txt", recursive: false },
  "Files/UploadPiece": { ...upload, offset: 0, data: "aGk=" },
  "Files/UploadStatus": upload,
  "Files/UploadCommit": { ...upload, sizeBytes: 2, sha256: "", precondition: "", mode: 420, modifiedAtMs: 1 },
  "Files/UploadDrop": upload,
  "Files/Watch": { path: "", recursive: true, ignore: ["a"], includeInfo: true, foldersMax: 10 },
  "Changes/Diff": { questions: [{ path: "", git: "HEAD", only: ["a"], namesOnly: true, contextLines: 1 }] },
  "Changes/CreateCheckpoint": { path: "made", label: "l", ignore: ["a"] },
  "Changes/ListCheckpoints": {},
  "Changes/RemoveCheckpoint": { id: "fuzz-absent" },
  "Changes/Hash": { path: "made", ignore: ["a"], content: true },
  "Changes/ApplyPatch": { path: "made", patch: btoa(samplePatch), strip: 1, reverse: false, checkOnly: true },
  "Artifacts/List": { afterId: "", artifactsMax: 5 },
  "Artifacts/Upload": { id: "fuzz-1", name: "n", data: "aGk=" },
  "Artifacts/Restore": { id: "fuzz-1", path: "restored.txt", precondition: "" },
  "Artifacts/Read": { id: "fuzz-1", offset: 0, lengthMax: 10 },
  "Artifacts/Remove": { id: "fuzz-1" },
};

/** The server that is loaded ends at once. Only the stream starts it, whose failures aren't told by a status. */
const mcpBodies: Readonly<Record<string, JsonObject>> = {
  "Mcp/LoadServers": {
    source: "fuzz",
    servers: [
      {
        id: "fuzz-loaded",
        stdio: { command: ["false"], cwd: "", env: { A: "1" }, secretEnv: {}, writableRoots: [] },
        startMaxMs: 1000,
        callMaxMs: 1000,
        idleMaxMs: 1000,
      },
      { id: "fuzz-http", http: { url: "http://127.0.0.1:9/", headers: { a: "b" }, oauth: { scope: "s" } } },
    ],
  },
  "Mcp/ReloadServers": {},
  "Mcp/ListServers": {},
  "Mcp/WatchServers": {},
  "Mcp/ListTools": { serverIds: ["fuzz-absent"], waitMs: 100 },
  "Mcp/CallTool": { serverId: "fuzz-loaded", name: "t", argumentsJson: '{"a":1}', maxMs: 100 },
  "Mcp/ListResources": { serverId: "fuzz-absent" },
  "Mcp/ReadResource": { serverId: "fuzz-absent", uri: "fuzz://a" },
  "Mcp/ListPrompts": { serverId: "fuzz-absent" },
  "Mcp/GetPrompt": { serverId: "fuzz-absent", name: "p", arguments: { a: "1" } },
  "Mcp/CloseServer": { serverId: "fuzz-absent" },
  "Mcp/RestartServer": { serverId: "fuzz-absent" },
  "Mcp/ReadServerLog": { serverId: "fuzz-absent" },
  "Mcp/BeginLogin": { serverId: "fuzz-absent", redirectUrl: "http://127.0.0.1:9/" },
  "Mcp/FinishLogin": { serverId: "fuzz-absent", code: "c", state: "s" },
  "Mcp/ForgetLogin": { serverId: "fuzz-absent" },
};

const openEndedProcedures: readonly string[] = [
  ...["Processes/Attach", "Processes/Read", "Processes/Wait"],
  ...["Mcp/CallTool", "Mcp/WatchServers", "Files/Watch", "Shells/Run", "Shells/Get"],
];
/** what they send and get is framed */
const streamedProcedures: readonly string[] = [
  ...["Processes/Attach", "Mcp/CallTool", "Mcp/WatchServers"],
  ...["Files/ListStream", "Files/Watch"],
];

export function daemonTargets(): readonly FuzzTarget[] {
  return Object.entries({
    ...procedureBodies,
    ...fileBodies,
    ...mcpBodies,
    ...shellBodies,
    ...policyBodies,
  }).map(([name, body]) => ({
    name,
    server: "daemon",
    method: "POST",
    path: `/exec.v1.${name}`,
    body,
    isOpenEnded: openEndedProcedures.includes(name),
    isStreamed: streamedProcedures.includes(name),
  }));
}
