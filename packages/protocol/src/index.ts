export type { AgentProfile, AgentSummary } from "./agent-summary.ts";
export { canonicalJson } from "./canonical-json.ts";
export type { Clock, IdSource } from "./clock.ts";
export type { CommandRow } from "./commands/command-row.ts";
export type {
  BuiltCommandName,
  CommandName,
  CommandRequest,
  CommandResponse,
  PlannedCommandName,
} from "./commands/command-table.ts";
export { builtCommands, findCommand, isBuiltCommand } from "./commands/command-table.ts";
export type { StoreRepair } from "./commands/host-commands.ts";
export { parseRequest } from "./commands/parse-request.ts";
export { plannedCommandNames } from "./commands/planned-commands.ts";
export type {
  AcceptanceRecord,
  PromptAcceptanceStatus,
  SendPromptRequest,
} from "./commands/prompting-commands.ts";
export type { CreateAgentRequest, ProfileChange } from "./commands/roster-commands.ts";
export { avatarColors, avatarShapes } from "./commands/roster-commands.ts";
export type { MediaHit, SearchHit, SearchStatus } from "./commands/search-commands.ts";
export type { HostSettings, HostSettingsPatch } from "./commands/settings-commands.ts";
export { defaultHostSettings } from "./commands/settings-commands.ts";
export type { AsyncTask, Subagent, TranscriptWindow } from "./commands/transcript-commands.ts";
export { tailLimit } from "./commands/transcript-commands.ts";
export type { OutlineItem, TranscriptPage } from "./commands/wire-shapes.ts";
export type { CommittedEvent, HostEvent, TransientEvent } from "./committed-event.ts";
export { creationDigestInput, promptDigestInput } from "./digest-input.ts";
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
export type { EventChannel, EventPayload, EventRow, TurnDelta } from "./events/event-table.ts";
export { eventTable, slimAvatar, wantsChannel } from "./events/event-table.ts";
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
export { limits } from "./limits.ts";
export { parseHostSettings } from "./parse-settings.ts";
export { ports } from "./ports.ts";
