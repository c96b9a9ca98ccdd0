/**
 * What a sweep leaves for the checker: the client's side, the stores' rows, the model's log, the daemon's folders and
 * the files that commands wrote. Plain data, so that a test can tamper with it and see the checker object.
 */
import type { WorkPlan } from "./work-plan.ts";

export interface AcceptedPrompt {
  readonly nonce: string;
  readonly agentId: string;
}

export interface TurnEvidence {
  readonly turnId: string;
  readonly generation: number;
  readonly state: string;
  readonly outcome: string | null;
  readonly records: readonly RecordEvidence[];
}

/** one row of the journal; its body as stored */
export interface RecordEvidence {
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface PromptEvidence {
  readonly nonce: string;
  readonly promptId: string;
  readonly entryId: string;
  readonly turnId: string | null;
}

export interface AgentEvidence {
  readonly agentId: string;
  readonly isRunning: boolean;
  readonly prompts: readonly PromptEvidence[];
  readonly turns: readonly TurnEvidence[];
  /** as the gateway gives them */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
  readonly eventSeqs: readonly number[];
}

export interface ModelCallEvidence {
  readonly lastUserText: string;
  readonly step: number;
  readonly violations: readonly string[];
  /** the texts of all user messages in the request, oldest first */
  readonly userTexts: readonly string[];
}

export interface ExecutionEvidence {
  readonly executionId: string;
  readonly hasExit: boolean;
}

export interface SweepEvidence {
  /** a process that waits for a command was killed, so of some commands nobody can know; each at most once all the same */
  readonly mayBeUnknown: boolean;
  readonly plan: WorkPlan;
  /** agent ids in the plan's order; ids that a repeated creation gave stand side by side */
  readonly createdAgents: readonly (readonly string[])[];
  readonly accepted: readonly AcceptedPrompt[];
  /** what clients saw on the way and never may see */
  readonly clientFindings: readonly string[];
  /** outcome of `promptAcceptanceStatus` at the end, for each accepted nonce */
  readonly statuses: Readonly<Record<string, string>>;
  readonly agents: readonly AgentEvidence[];
  readonly modelCalls: readonly ModelCallEvidence[];
  /** `undefined` when the ledger is switched off */
  readonly executions: readonly ExecutionEvidence[] | undefined;
  readonly effects: Readonly<Record<string, number>>;
  readonly leftProcesses: readonly string[];
}
