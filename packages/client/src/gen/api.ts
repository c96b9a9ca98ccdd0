// Generated from the protocol's tables by scripts/generate-api.mjs. Do not edit.

export type TranscriptEntry = {
  readonly kind: "message";
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly timestampMs: number;
  readonly requestId?: string;
  readonly clientNonce?: string;
  readonly replyToId?: string;
  readonly seq?: number;
} | {
  readonly kind: "send-message";
  readonly id: string;
  readonly message: {
    readonly type: "text";
    readonly content: string;
  };
  readonly requestId: string;
  readonly timestampMs: number;
  readonly seq?: number;
} | {
  readonly kind: "tool-call";
  readonly id: string;
  readonly name: string;
  readonly status: "pending" | "running" | "completed" | "failed" | "interrupted" | "denied" | "unknown";
  readonly summary: string;
  readonly argsPreview: string;
  readonly outputHandle: string | null;
  readonly timestampMs: number;
  readonly outputPreview?: string;
  readonly turnId?: string;
  readonly seq?: number;
} | {
  readonly kind: "notice";
  readonly id: string;
  readonly level: "info" | "warning" | "error";
  readonly code: string;
  readonly content: string;
  readonly timestampMs: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly seq?: number;
};

export type AgentSummary = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly title: string;
  readonly path: string;
  readonly avatarDataUrl: string | null;
  readonly avatarVersion: string | null;
  readonly avatarShape: string | null;
  readonly avatarColor: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly isActive: boolean;
  readonly isRunning: boolean;
  readonly isComposingMessage: boolean;
  readonly isRunningTurn: boolean;
  readonly isRetrying: boolean;
  readonly lastEntry: TranscriptEntry | null;
  readonly lastMessageId: string | null;
  readonly lastMessagePreview: string | null;
  readonly lastMessageAuthorId: string | null;
  readonly newestEntryId: string | null;
  readonly hasUnread: boolean;
  readonly unreadCount: number;
  readonly lastViewedAt: number | null;
  readonly lastActivityAt: number | null;
  readonly awaitingUserResponse: boolean | null;
  readonly notificationsEnabled: boolean;
  readonly notifyOnUpdatesEnabled: boolean;
  readonly isHiddenFromSidebar: boolean;
  readonly origin: string;
  readonly purpose?: string;
  readonly isGroup: boolean;
  readonly memberIds: ReadonlyArray<string>;
  readonly conversationPartnerIds: ReadonlyArray<string>;
};

export type OutlineItem = {
  readonly kind: "user";
  readonly id: string;
  readonly text: string;
  readonly hidden?: boolean;
} | {
  readonly kind: "assistant-text";
  readonly id: string;
  readonly text: string;
} | {
  readonly kind: "thinking";
  readonly id: string;
  readonly text: string;
  readonly durationMs?: number;
} | {
  readonly kind: "tool-call";
  readonly id: string;
  readonly name: string;
  readonly status: "pending" | "running" | "completed" | "failed" | "interrupted" | "denied" | "unknown";
  readonly summary: string;
} | {
  readonly kind: "send-message";
  readonly id: string;
  readonly message: {
    readonly type: "text";
    readonly content: string;
  };
  readonly timestampMs: number;
};

export type TranscriptPage = {
  readonly entries: ReadonlyArray<TranscriptEntry>;
  readonly nextBeforeSeq?: number;
};

export type HostSettings = {
  readonly notifications: {
    readonly isEnabled: boolean;
    readonly allowedApps: ReadonlyArray<string>;
    readonly minIntervalMs: number;
    readonly maxPerWindow: number;
    readonly windowMs: number;
  };
  readonly mcpCustomInstructions: string;
  readonly mcpCustomInstructionsByServerId: Readonly<Record<string, string>>;
  readonly mcpDisabledToolsByServerId: Readonly<Record<string, ReadonlyArray<string>>>;
  readonly mcpBoxServers: unknown;
  readonly autoReviewInstructions: string;
  readonly localToolPermission: string;
  readonly webauthnProxyEnabled: boolean;
  readonly sidebarSections: ReadonlyArray<unknown>;
  readonly userTimeZone?: string;
  readonly userTimeZoneOverride?: string;
  readonly agentDefaultModel?: {
    readonly modelId: string;
    readonly maxMode?: boolean;
    readonly parameters: ReadonlyArray<{
      readonly id: string;
      readonly value: unknown;
    }>;
  };
  readonly computerUseModel?: {
    readonly modelId: string;
    readonly maxMode?: boolean;
    readonly parameters: ReadonlyArray<{
      readonly id: string;
      readonly value: unknown;
    }>;
  };
  readonly pinnedAgentIds?: ReadonlyArray<string>;
  readonly hasSeenOnboarding?: boolean;
};

export type Subagent = {
  readonly subagentId: string;
  readonly subagentType: string;
  readonly title: string;
  readonly status: string;
  readonly startedAtMs: number;
};

export type AsyncTask = {
  readonly kind: "subagent" | "shell" | "cloud-agent";
  readonly id: string;
  readonly label: string;
  readonly status: "running";
  readonly startedAtMs: number;
  readonly detail?: string;
  readonly subagentType?: string;
};

/** request and response of each command */

export interface Commands {
  readonly clearBoxStoreNow: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly removedObjects: number;
      readonly removedBytes: number;
    };
  };
  readonly countAgents: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: number;
  };
  readonly createAgent: {
    readonly request: {
      readonly name: string;
      readonly description: string;
      readonly title?: string;
      readonly avatarShape?: "blob" | "pebble" | "bean" | "egg" | "squircle" | "tablet" | "capsule" | "cylinder" | "hex" | "gem" | "crystal" | "wedge" | "shield" | "dome" | "arch" | "cloud" | "teardrop" | "leaf" | null;
      readonly avatarColor?: "black" | "brown" | "red" | "orange" | "yellow" | "green" | "cyan" | "blue" | "violet" | "magenta" | "gray" | null;
      readonly origin?: "user" | "dev";
      readonly clientNonce?: string;
      readonly isIntroductionSuppressed?: boolean;
      readonly isKickstartRequested?: boolean;
      readonly purpose?: "disk-saver" | "plugin-auth";
      readonly templateId?: string;
      readonly supportsTemporalHarness?: boolean;
    };
    readonly response: {
      readonly agent: AgentSummary;
      readonly transcript?: ReadonlyArray<TranscriptEntry>;
    };
  };
  readonly deleteAgent: {
    readonly request: {
      readonly id: string;
    };
    readonly response: {
      readonly transcript: ReadonlyArray<TranscriptEntry>;
    };
  };
  readonly deleteAgents: {
    readonly request: {
      readonly ids: ReadonlyArray<string>;
    };
    readonly response: {
      readonly transcript: ReadonlyArray<TranscriptEntry>;
    };
  };
  readonly getAgentThread: {
    readonly request: {
      readonly id: string;
      readonly rootId: string;
    };
    readonly response: {
      readonly entries: ReadonlyArray<TranscriptEntry>;
    };
  };
  readonly getAgentTranscript: {
    readonly request: {
      readonly id: string;
    };
    readonly response: ReadonlyArray<TranscriptEntry>;
  };
  readonly getAgentTranscriptPage: {
    readonly request: {
      readonly id: string;
      readonly limit: number;
      readonly beforeSeq?: number;
      readonly sinceMs?: number;
      readonly untilMs?: number;
    };
    readonly response: TranscriptPage;
  };
  readonly getAgentTranscriptTail: {
    readonly request: {
      readonly id: string;
      readonly limit?: number;
      readonly beforeSeq?: number;
    };
    readonly response: TranscriptPage;
  };
  readonly getAgentTranscriptWindow: {
    readonly request: {
      readonly id: string;
      readonly limit?: number;
      readonly beforeSeq?: number;
    };
    readonly response: {
      readonly entries: ReadonlyArray<TranscriptEntry>;
      readonly nextBeforeSeq?: number;
      readonly threadCounts?: Readonly<Record<string, number>>;
    };
  };
  readonly getAsyncTasks: {
    readonly request: {
      readonly id: string;
    };
    readonly response: ReadonlyArray<AsyncTask>;
  };
  readonly getBoxStoreStatus: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly durable: boolean;
      readonly fullyHydrated?: boolean;
      readonly entryCount: number;
      readonly storeDbEntries: number;
      readonly agentDirEntries: number;
      readonly totalBytes: number;
      readonly lastSnapshotAtMs: number | null;
      readonly problem?: {
        readonly failureCode: string;
        readonly error: string;
      };
    };
  };
  readonly getConversationOutline: {
    readonly request: {
      readonly id: string;
    };
    readonly response: ReadonlyArray<OutlineItem>;
  };
  readonly getHostSettings: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: HostSettings;
  };
  readonly getHostStatus: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly hostVersion: string | null;
      readonly latestHostVersion: string | null;
      readonly hostUpdateAvailable: boolean | null;
      readonly isBusy: boolean;
      readonly storeRepairs: ReadonlyArray<{
        readonly agentId: string;
        readonly atMs: number;
        readonly outcome: "repaired" | "failed" | "behind";
        readonly reason: string;
        readonly quarantine: string;
        readonly keptEntries: number;
        readonly lostEntries: number;
        readonly lostPrompts: number;
        readonly mayHaveLostMore: boolean;
        readonly settledTurns: number;
      }>;
      readonly capabilities: ReadonlyArray<string>;
    };
  };
  readonly getSearchStatus: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly state: "ready" | "catching-up" | "rebuilding" | "unavailable";
      readonly agentsDone: number;
      readonly agentsTotal: number;
    };
  };
  readonly getSubagents: {
    readonly request: {
      readonly id: string;
    };
    readonly response: ReadonlyArray<Subagent>;
  };
  readonly getTranscript: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: ReadonlyArray<TranscriptEntry>;
  };
  readonly interruptAgentRun: {
    readonly request: {
      readonly id: string;
    };
    readonly response: {
      readonly hadActiveRun: boolean;
    };
  };
  readonly isAgentNetworkEnabled: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: boolean;
  };
  readonly isEgressTunnelAvailable: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: boolean;
  };
  readonly isGlobalSearchEnabled: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: boolean;
  };
  readonly listAgents: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: ReadonlyArray<AgentSummary>;
  };
  readonly listGatewayServices: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly protocolVersion: number;
      readonly capabilities: ReadonlyArray<string>;
      readonly methods: ReadonlyArray<string>;
    };
  };
  readonly openAgent: {
    readonly request: {
      readonly id: string;
    };
    readonly response: ReadonlyArray<TranscriptEntry>;
  };
  readonly openAgentTail: {
    readonly request: {
      readonly id: string;
      readonly limit?: number;
    };
    readonly response: TranscriptPage;
  };
  readonly openAgentWindowed: {
    readonly request: {
      readonly id: string;
      readonly limit?: number;
    };
    readonly response: {
      readonly entries: ReadonlyArray<TranscriptEntry>;
      readonly nextBeforeSeq?: number;
      readonly threadCounts?: Readonly<Record<string, number>>;
    };
  };
  readonly promptAcceptanceStatus: {
    readonly request: {
      readonly accountSlot: "host";
      readonly clientNonce: string;
      readonly agentId?: string;
    };
    readonly response: {
      readonly outcome: "found";
      readonly record: {
        readonly accountSlot: "host";
        readonly clientNonce: string;
        readonly inputDigest: string;
        readonly status: "accepted" | "rejected" | "pending";
        readonly acceptedAtMs: number;
        readonly agentId: string;
        readonly echoEntryId: string | null;
        readonly rejectionCode: string | null;
      };
    } | {
      readonly outcome: "not-found";
    } | {
      readonly outcome: "unknown-durability";
    };
  };
  readonly rebuildSearch: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: null;
  };
  readonly searchAgents: {
    readonly request: {
      readonly query: string;
      readonly limit?: number;
    };
    readonly response: ReadonlyArray<{
      readonly agentId: string;
      readonly entryId: string;
      readonly role: "user" | "assistant";
      readonly timestampMs: number;
      readonly snippet: string;
    }>;
  };
  readonly searchMedia: {
    readonly request: {
      readonly query: string;
      readonly limit?: number;
    };
    readonly response: ReadonlyArray<{
      readonly agentId: string;
      readonly entryId: string;
      readonly fileName: string;
      readonly ext: string;
      readonly mime: string | null;
      readonly kind: string;
      readonly timestampMs: number;
      readonly width: number | null;
      readonly height: number | null;
    }>;
  };
  readonly sendPrompt: {
    readonly request: {
      readonly prompt: string;
      readonly agentId?: string;
      readonly clientNonce?: string;
      readonly attachmentPaths?: ReadonlyArray<string>;
      readonly attachmentNames?: ReadonlyArray<string>;
      readonly richText?: unknown;
      readonly replyToId?: string;
      readonly isFork?: boolean;
      readonly directAddressedAcceptance?: unknown;
      readonly whenBusy?: "steer" | "queue" | "interrupt";
    };
    readonly response: {
      readonly accepted: true;
    };
  };
  readonly setAgentHiddenFromSidebar: {
    readonly request: {
      readonly id: string;
      readonly isHidden: boolean;
    };
    readonly response: null;
  };
  readonly setAgentNotificationsEnabled: {
    readonly request: {
      readonly id: string;
      readonly isEnabled: boolean;
    };
    readonly response: null;
  };
  readonly setAgentNotifyOnUpdates: {
    readonly request: {
      readonly id: string;
      readonly isEnabled: boolean;
    };
    readonly response: null;
  };
  readonly setAgentUnread: {
    readonly request: {
      readonly id: string;
      readonly isUnread: boolean;
      readonly atMs?: number;
    };
    readonly response: null;
  };
  readonly setHostSettings: {
    readonly request: {
      readonly notifications?: {
        readonly isEnabled?: boolean;
        readonly allowedApps?: ReadonlyArray<string>;
        readonly minIntervalMs?: number;
        readonly maxPerWindow?: number;
        readonly windowMs?: number;
      };
      readonly mcpCustomInstructions?: string;
      readonly mcpCustomInstructionsByServerId?: Readonly<Record<string, string>>;
      readonly mcpDisabledToolsByServerId?: Readonly<Record<string, ReadonlyArray<string>>>;
      readonly mcpBoxServers?: unknown;
      readonly autoReviewInstructions?: string;
      readonly localToolPermission?: string;
      readonly webauthnProxyEnabled?: boolean;
      readonly sidebarSections?: ReadonlyArray<unknown>;
      readonly userTimeZone?: string | null;
      readonly userTimeZoneOverride?: string | null;
      readonly agentDefaultModel?: {
        readonly modelId: string;
        readonly maxMode?: boolean;
        readonly parameters: ReadonlyArray<{
          readonly id: string;
          readonly value: unknown;
        }>;
      } | null;
      readonly computerUseModel?: {
        readonly modelId: string;
        readonly maxMode?: boolean;
        readonly parameters: ReadonlyArray<{
          readonly id: string;
          readonly value: unknown;
        }>;
      } | null;
      readonly pinnedAgentIds?: ReadonlyArray<string> | null;
      readonly hasSeenOnboarding?: boolean | null;
    };
    readonly response: HostSettings;
  };
  readonly snapshotBoxStoreNow: {
    readonly request: Readonly<Record<string, never>>;
    readonly response: {
      readonly snapshotId: string;
      readonly isNew: boolean;
      readonly takenAtMs: number;
      readonly entryCount: number;
      readonly totalBytes: number;
      readonly uploadedBytes: number;
      readonly skipped: ReadonlyArray<{
        readonly path: string;
        readonly reason: string;
        readonly keptEarlier: boolean;
      }>;
    };
  };
  readonly updateAgent: {
    readonly request: {
      readonly id: string;
      readonly profile: {
        readonly name: string;
        readonly description: string;
        readonly title?: string;
        readonly avatarShape?: "blob" | "pebble" | "bean" | "egg" | "squircle" | "tablet" | "capsule" | "cylinder" | "hex" | "gem" | "crystal" | "wedge" | "shield" | "dome" | "arch" | "cloud" | "teardrop" | "leaf" | null;
        readonly avatarColor?: "black" | "brown" | "red" | "orange" | "yellow" | "green" | "cyan" | "blue" | "violet" | "magenta" | "gray" | null;
      };
    };
    readonly response: AgentSummary | null;
  };
}

/** one method for each command; a command whose request has no required field takes none */

export interface CommandMethods<Options> {
  /** Takes every snapshot out of the box store and gives it up. */
  clearBoxStoreNow(request?: Commands["clearBoxStoreNow"]["request"], options?: Options): Promise<Commands["clearBoxStoreNow"]["response"]>;
  /** How many agents there are. */
  countAgents(request?: Commands["countAgents"]["request"], options?: Options): Promise<Commands["countAgents"]["response"]>;
  /** Makes an agent; the same clientNonce with the same payload gives the same agent again. */
  createAgent(request: Commands["createAgent"]["request"], options?: Options): Promise<Commands["createAgent"]["response"]>;
  /** Deletes an agent with all it has; a repeated delete succeeds. */
  deleteAgent(request: Commands["deleteAgent"]["request"], options?: Options): Promise<Commands["deleteAgent"]["response"]>;
  /** Deletes several agents; ids that no agent has are passed over. */
  deleteAgents(request: Commands["deleteAgents"]["request"], options?: Options): Promise<Commands["deleteAgents"]["response"]>;
  /** An entry and the entries that reply to it, oldest first. */
  getAgentThread(request: Commands["getAgentThread"]["request"], options?: Options): Promise<Commands["getAgentThread"]["response"]>;
  /** The newest entries of an agent, oldest first, 5,000 at most. */
  getAgentTranscript(request: Commands["getAgentTranscript"]["request"], options?: Options): Promise<Commands["getAgentTranscript"]["response"]>;
  /** A page of the entries of a span of time, both ends included. */
  getAgentTranscriptPage(request: Commands["getAgentTranscriptPage"]["request"], options?: Options): Promise<Commands["getAgentTranscriptPage"]["response"]>;
  /** A page of an agent's newest entries; beforeSeq pages backwards. */
  getAgentTranscriptTail(request: Commands["getAgentTranscriptTail"]["request"], options?: Options): Promise<Commands["getAgentTranscriptTail"]["response"]>;
  /** A page without tool calls and branches, with how often entries were replied to. */
  getAgentTranscriptWindow(request: Commands["getAgentTranscriptWindow"]["request"], options?: Options): Promise<Commands["getAgentTranscriptWindow"]["response"]>;
  /** What runs in the background for an agent now. */
  getAsyncTasks(request: Commands["getAsyncTasks"]["request"], options?: Options): Promise<Commands["getAsyncTasks"]["response"]>;
  /** How the last snapshot of the host's state went, and what it holds. */
  getBoxStoreStatus(request?: Commands["getBoxStoreStatus"]["request"], options?: Options): Promise<Commands["getBoxStoreStatus"]["response"]>;
  /** The newest part of a conversation in short lines, with thinking and text beside calls. */
  getConversationOutline(request: Commands["getConversationOutline"]["request"], options?: Options): Promise<Commands["getConversationOutline"]["response"]>;
  /** The host's settings as one object. */
  getHostSettings(request?: Commands["getHostSettings"]["request"], options?: Options): Promise<Commands["getHostSettings"]["response"]>;
  /** The host's version, whether it is busy, and what clients may rely on. */
  getHostStatus(request?: Commands["getHostStatus"]["request"], options?: Options): Promise<Commands["getHostStatus"]["response"]>;
  /** Whether the search knows all that agents hold, and how far it is. */
  getSearchStatus(request?: Commands["getSearchStatus"]["request"], options?: Options): Promise<Commands["getSearchStatus"]["response"]>;
  /** The subagents that work for an agent now. */
  getSubagents(request: Commands["getSubagents"]["request"], options?: Options): Promise<Commands["getSubagents"]["response"]>;
  /** The newest entries of the active agent, oldest first. */
  getTranscript(request?: Commands["getTranscript"]["request"], options?: Options): Promise<Commands["getTranscript"]["response"]>;
  /** Ends the running turn, with what it has. */
  interruptAgentRun(request: Commands["interruptAgentRun"]["request"], options?: Options): Promise<Commands["interruptAgentRun"]["response"]>;
  /** Whether agents can write to each other. */
  isAgentNetworkEnabled(request?: Commands["isAgentNetworkEnabled"]["request"], options?: Options): Promise<Commands["isAgentNetworkEnabled"]["response"]>;
  /** Whether an egress tunnel is there. */
  isEgressTunnelAvailable(request?: Commands["isEgressTunnelAvailable"]["request"], options?: Options): Promise<Commands["isEgressTunnelAvailable"]["response"]>;
  /** Whether search over all agents is there. */
  isGlobalSearchEnabled(request?: Commands["isGlobalSearchEnabled"]["request"], options?: Options): Promise<Commands["isGlobalSearchEnabled"]["response"]>;
  /** All agents, as rows of the roster. */
  listAgents(request?: Commands["listAgents"]["request"], options?: Options): Promise<Commands["listAgents"]["response"]>;
  /** The names of all commands that this host answers. */
  listGatewayServices(request?: Commands["listGatewayServices"]["request"], options?: Options): Promise<Commands["listGatewayServices"]["response"]>;
  /** Makes an agent active and returns its newest entries. */
  openAgent(request: Commands["openAgent"]["request"], options?: Options): Promise<Commands["openAgent"]["response"]>;
  /** Makes an agent active and returns a page of its newest entries. */
  openAgentTail(request: Commands["openAgentTail"]["request"], options?: Options): Promise<Commands["openAgentTail"]["response"]>;
  /** Makes an agent active and returns a page without tool calls and branches. */
  openAgentWindowed(request: Commands["openAgentWindowed"]["request"], options?: Options): Promise<Commands["openAgentWindowed"]["response"]>;
  /** What became of a prompt that was sent under a clientNonce. */
  promptAcceptanceStatus(request: Commands["promptAcceptanceStatus"]["request"], options?: Options): Promise<Commands["promptAcceptanceStatus"]["response"]>;
  /** Makes the search index anew in the background; it answers what is in it meanwhile. */
  rebuildSearch(request?: Commands["rebuildSearch"]["request"], options?: Options): Promise<Commands["rebuildSearch"]["response"]>;
  /** Messages of all agents that hold the query's words, newest first; the last word may be a beginning. */
  searchAgents(request: Commands["searchAgents"]["request"], options?: Options): Promise<Commands["searchAgents"]["response"]>;
  /** Files in all agents' conversations whose name holds the query's words, newest first. */
  searchMedia(request: Commands["searchMedia"]["request"], options?: Options): Promise<Commands["searchMedia"]["response"]>;
  /** Accepts a prompt durably, before any inference; a repeat under the same clientNonce runs nothing twice. */
  sendPrompt(request: Commands["sendPrompt"]["request"], options?: Options): Promise<Commands["sendPrompt"]["response"]>;
  /** Shows an agent in the sidebar or hides it there. */
  setAgentHiddenFromSidebar(request: Commands["setAgentHiddenFromSidebar"]["request"], options?: Options): Promise<Commands["setAgentHiddenFromSidebar"]["response"]>;
  /** Switches an agent's notifications on or off. */
  setAgentNotificationsEnabled(request: Commands["setAgentNotificationsEnabled"]["request"], options?: Options): Promise<Commands["setAgentNotificationsEnabled"]["response"]>;
  /** Sets whether an agent's updates notify. */
  setAgentNotifyOnUpdates(request: Commands["setAgentNotifyOnUpdates"]["request"], options?: Options): Promise<Commands["setAgentNotifyOnUpdates"]["response"]>;
  /** Marks an agent as read or unread. */
  setAgentUnread(request: Commands["setAgentUnread"]["request"], options?: Options): Promise<Commands["setAgentUnread"]["response"]>;
  /** Changes the settings that a patch names, and returns all of them; null takes an optional one away. */
  setHostSettings(request?: Commands["setHostSettings"]["request"], options?: Options): Promise<Commands["setHostSettings"]["response"]>;
  /** Takes a snapshot of the host's state; nothing is copied that the store has already. */
  snapshotBoxStoreNow(request?: Commands["snapshotBoxStoreNow"]["request"], options?: Options): Promise<Commands["snapshotBoxStoreNow"]["response"]>;
  /** Changes an agent's profile; null when no such agent exists. */
  updateAgent(request: Commands["updateAgent"]["request"], options?: Options): Promise<Commands["updateAgent"]["response"]>;
}

export type CallCommand<Options> = <Name extends keyof Commands>(
  name: Name,
  request: Commands[Name]["request"],
  options?: Options,
) => Promise<Commands[Name]["response"]>;

export function createCommandMethods<Options>(call: CallCommand<Options>): CommandMethods<Options> {
  return {
    clearBoxStoreNow: (request = {}, options) => call("clearBoxStoreNow", request, options),
    countAgents: (request = {}, options) => call("countAgents", request, options),
    createAgent: (request, options) => call("createAgent", request, options),
    deleteAgent: (request, options) => call("deleteAgent", request, options),
    deleteAgents: (request, options) => call("deleteAgents", request, options),
    getAgentThread: (request, options) => call("getAgentThread", request, options),
    getAgentTranscript: (request, options) => call("getAgentTranscript", request, options),
    getAgentTranscriptPage: (request, options) => call("getAgentTranscriptPage", request, options),
    getAgentTranscriptTail: (request, options) => call("getAgentTranscriptTail", request, options),
    getAgentTranscriptWindow: (request, options) => call("getAgentTranscriptWindow", request, options),
    getAsyncTasks: (request, options) => call("getAsyncTasks", request, options),
    getBoxStoreStatus: (request = {}, options) => call("getBoxStoreStatus", request, options),
    getConversationOutline: (request, options) => call("getConversationOutline", request, options),
    getHostSettings: (request = {}, options) => call("getHostSettings", request, options),
    getHostStatus: (request = {}, options) => call("getHostStatus", request, options),
    getSearchStatus: (request = {}, options) => call("getSearchStatus", request, options),
    getSubagents: (request, options) => call("getSubagents", request, options),
    getTranscript: (request = {}, options) => call("getTranscript", request, options),
    interruptAgentRun: (request, options) => call("interruptAgentRun", request, options),
    isAgentNetworkEnabled: (request = {}, options) => call("isAgentNetworkEnabled", request, options),
    isEgressTunnelAvailable: (request = {}, options) => call("isEgressTunnelAvailable", request, options),
    isGlobalSearchEnabled: (request = {}, options) => call("isGlobalSearchEnabled", request, options),
    listAgents: (request = {}, options) => call("listAgents", request, options),
    listGatewayServices: (request = {}, options) => call("listGatewayServices", request, options),
    openAgent: (request, options) => call("openAgent", request, options),
    openAgentTail: (request, options) => call("openAgentTail", request, options),
    openAgentWindowed: (request, options) => call("openAgentWindowed", request, options),
    promptAcceptanceStatus: (request, options) => call("promptAcceptanceStatus", request, options),
    rebuildSearch: (request = {}, options) => call("rebuildSearch", request, options),
    searchAgents: (request, options) => call("searchAgents", request, options),
    searchMedia: (request, options) => call("searchMedia", request, options),
    sendPrompt: (request, options) => call("sendPrompt", request, options),
    setAgentHiddenFromSidebar: (request, options) => call("setAgentHiddenFromSidebar", request, options),
    setAgentNotificationsEnabled: (request, options) => call("setAgentNotificationsEnabled", request, options),
    setAgentNotifyOnUpdates: (request, options) => call("setAgentNotifyOnUpdates", request, options),
    setAgentUnread: (request, options) => call("setAgentUnread", request, options),
    setHostSettings: (request = {}, options) => call("setHostSettings", request, options),
    snapshotBoxStoreNow: (request = {}, options) => call("snapshotBoxStoreNow", request, options),
    updateAgent: (request, options) => call("updateAgent", request, options),
  };
}

/** what each channel of the event stream carries */

export interface EventPayloads {
  readonly "transcript": {
    readonly type: "snapshot";
    readonly activeAgentId: string | null;
    readonly entries: ReadonlyArray<TranscriptEntry>;
  } | {
    readonly type: "appended";
    readonly agentId: string;
    readonly entry: TranscriptEntry;
  } | {
    readonly type: "updated";
    readonly agentId: string;
    readonly entry: TranscriptEntry;
    readonly before?: TranscriptEntry;
  } | {
    readonly type: "cleared";
    readonly agentId: string;
  };
  readonly "agents": {
    readonly agents: ReadonlyArray<AgentSummary>;
    readonly activeAgentId: string | null;
  };
  readonly "agent-upserted": {
    readonly agent: AgentSummary;
    readonly activeAgentId: string | null;
    readonly ordered?: boolean;
  };
  readonly "subagents": {
    readonly agentId: string;
    readonly subagents: ReadonlyArray<Subagent>;
  };
  readonly "async-tasks": {
    readonly agentId: string;
    readonly tasks: ReadonlyArray<AsyncTask>;
  };
  readonly "host-settings": HostSettings;
  readonly "turn": {
    readonly agentId: string;
    readonly turnId: string;
    readonly generation: number;
    readonly type: string;
  };
  readonly "turn-delta": {
    readonly type: "text";
    readonly agentId: string;
    readonly turnId: string;
    readonly step: number;
    readonly text: string;
  } | {
    readonly type: "tool-output";
    readonly agentId: string;
    readonly turnId: string;
    readonly callId: string;
    readonly stream: "stdout" | "stderr";
    readonly text: string;
  };
  readonly "reset": {
    readonly reason: "too-old" | "ahead" | "too-large";
    readonly lastSeq: number;
  };
}

/** what may be done after an error: never send it again, the same with the same nonce, or the same later */

export const errorRetries = {
  "gateway/bad-request": "never",
  "gateway/unsafe-agent-id": "never",
  "gateway/unauthorized": "never",
  "gateway/browser-origin": "never",
  "gateway/untrusted-host": "never",
  "gateway/not-found": "never",
  "gateway/unknown-method": "never",
  "gateway/agent-not-found": "never",
  "gateway/agent-limit": "never",
  "gateway/nonce-conflict": "never",
  "gateway/body-too-large": "never",
  "gateway/too-many-streams": "later",
  "gateway/internal": "same_nonce",
  "gateway/not-implemented": "never",
  "host/shutting-down": "same_nonce",
  "host/overloaded": "same_nonce",
  "host/locked": "never",
  "config/invalid": "never",
  "store/unavailable": "same_nonce",
  "store/damaged": "never",
  "store/newer-schema": "never",
  "box-store/not-configured": "never",
  "box-store/not-found": "never",
  "box-store/owned-by-other": "never",
  "box-store/incomplete": "never",
  "box-store/busy": "later",
  "box-store/refused": "never",
  "box-store/damaged": "never",
  "box-store/unavailable": "later",
  "archive/damaged": "never",
  "archive/newer-version": "never",
  "archive/refused": "never",
  "turn/not-found": "never",
  "turn/superseded": "never",
  "turn/already-settled": "never",
  "turn/step-limit": "never",
  "turn/no-progress": "never",
  "turn/resume-exhausted": "never",
  "inference/unavailable": "later",
  "inference/rate-limited": "later",
  "inference/overloaded": "later",
  "inference/unauthorized": "never",
  "inference/refused": "never",
  "inference/incomplete": "later",
  "inference/timeout": "later",
  "inference/bad-reasoning": "later",
  "inference/malformed": "later",
  "box/unavailable": "later",
  "box/unauthorized": "never",
  "exec/invalid": "never",
  "exec/unknown-execution": "never",
  "exec/unknown-session": "never",
  "exec/session-busy": "later",
  "exec/internal": "later",
  "exec/key-conflict": "never",
  "exec/too-many": "later",
  "exec/sandbox-unavailable": "never",
  "exec/spawn-failed": "never",
  "exec/unsupported": "never",
  "file/not-found": "never",
  "file/not-a-file": "never",
  "file/not-a-directory": "never",
  "file/exists": "never",
  "file/not-empty": "never",
  "file/watch-limit": "never",
  "file/too-large": "never",
  "file/precondition": "never",
  "file/denied": "never",
  "file/no-space": "later",
  "file/io": "later",
  "mcp/unknown-server": "never",
  "mcp/login-needed": "never",
  "mcp/too-large": "never",
  "mcp/refused": "never",
  "mcp/malformed": "later",
  "mcp/unavailable": "later",
  "mcp/timeout": "later",
  "terminal/unknown": "never",
  "terminal/origin": "never",
  "terminal/lease-held": "later",
  "terminal/not-writer": "never",
  "terminal/ended": "never",
} as const;
