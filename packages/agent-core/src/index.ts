export {
  buildMessages,
  createIdSeparator,
  estimateTokens,
  type IdSeparator,
  messagesOfTurn,
  messagesThroughStep,
  promptsBefore,
} from "./build-messages.ts";
export type { CollectedStep, ReceivedCall, StepCollector } from "./collect-step.ts";
export { createStepCollector } from "./collect-step.ts";
export type { Acceptance } from "./decide-acceptance.ts";
export { decideAcceptance } from "./decide-acceptance.ts";
export { turnLimits } from "./limits.ts";
export type { ModelMessage, ModelPart, ModelPort, ModelRequest, ToolDescription } from "./model-port.ts";
export type { Effect, TurnSurroundings } from "./next-step.ts";
export { nextOpeningPrompt, nextStep } from "./next-step.ts";
export type { ModelFailure } from "./plan-retry.ts";
export { planRetry } from "./plan-retry.ts";
export type {
  AgentReads,
  AgentStore,
  AgentTx,
  Committed,
  EntryPage,
  HostIndex,
  IndexedAgent,
  PageBounds,
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
  RequestBasis,
  StepFinish,
  ToolCallRecord,
  ToolOutcome,
  ToolResultRecord,
  TurnOutcome,
  TurnRecord,
  TurnRecordKind,
  UsageRecord,
} from "./turn-records.ts";
export type { AttemptView, CallView, StepView, TurnView } from "./turn-view.ts";
export { reduceTurn, reduceTurnRecords, unsettledCalls, upcomingStep } from "./turn-view.ts";
