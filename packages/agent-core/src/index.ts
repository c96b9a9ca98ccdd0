export type { ModelMessage, ModelPart, ModelPort, ModelRequest, ToolDescription } from "./model-port.ts";
export type {
  AgentReads,
  AgentStore,
  AgentTx,
  Committed,
  HostIndex,
  IndexedAgent,
  PromptRow,
  StoredEntry,
  TurnFence,
  TurnRow,
  TurnState,
  WhenBusy,
} from "./store-port.ts";
export type { Tool, ToolContext, ToolInvocation, ToolSet, ToolSettlement } from "./tool-port.ts";
export type {
  PromptText,
  Provenance,
  ReplayPolicy,
  StepFinish,
  ToolCallRecord,
  ToolOutcome,
  ToolResultRecord,
  TurnOutcome,
  TurnRecord,
  TurnRecordKind,
  UsageRecord,
} from "./turn-records.ts";
