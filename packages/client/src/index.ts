export type { CallOptions } from "./call-command.ts";
export type { Client, ClientOptions } from "./create-client.ts";
export { createClient } from "./create-client.ts";
export { GatewayError, type Retry } from "./gateway-error.ts";
export type {
  AgentSummary,
  AsyncTask,
  CommandMethods,
  Commands,
  EventPayloads,
  HostSettings,
  OutlineItem,
  Subagent,
  TranscriptEntry,
  TranscriptPage,
} from "./gen/api.ts";
export type { EventChannel, EventOptions, SandEvent } from "./read-events.ts";
export {
  type AcceptedPrompt,
  type Prompt,
  PromptUnsettledError,
  type ReliableOptions,
} from "./send-prompt-reliably.ts";
