export type { AgentProfile, AgentSummary } from "./agent-summary.ts";
export type { Clock, IdSource } from "./clock.ts";
export type { CommittedEvent, HostEvent, TransientEvent } from "./committed-event.ts";
export type {
  MessageEntry,
  NoticeEntry,
  SendMessageEntry,
  ToolCallEntry,
  ToolCallStatus,
  TranscriptEntry,
} from "./entries.ts";
export type { BoxErrorOptions, ConnectCodeName, ErrorCode, ErrorRow } from "./errors.ts";
export { BoxError, errorCodes, InvariantError, invariant } from "./errors.ts";
export type {
  AgentId,
  BoxId,
  Branded,
  CallId,
  ClientNonce,
  DisplayId,
  EntryId,
  ExecutionId,
  PromptId,
  RequestId,
  TaskId,
  TurnId,
} from "./ids.ts";
export { brandId, isSafeAgentId } from "./ids.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export { ports } from "./ports.ts";
