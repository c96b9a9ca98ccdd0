/**
 * The port of tools. The turn loop parses and checks arguments, records the intent, and then asks a tool to run; a
 * tool performs one effect and reports one settlement.
 *
 * A tool returns what happened, also failures of the command or file it works on. It throws `BoxError` only when the
 * outcome isn't known because the box can't be reached (`box/unavailable`): the loop then waits for the box and asks
 * again under the same execution id when the replay policy allows it, and settles as `unknown` when it doesn't.
 */
import type { AgentId, CallId, ExecutionId, JsonObject, TurnId } from "@sand/protocol";
import type { ToolDescription } from "./model-port.ts";
import type { ReplayPolicy } from "./turn-records.ts";

export interface ToolInvocation {
  readonly agentId: AgentId;
  readonly turnId: TurnId;
  readonly callId: CallId;
  /** the executor's key: the same for every attempt at this call */
  readonly executionId: ExecutionId;
  /** parsed strictly and valid under the tool's parameters */
  readonly args: JsonObject;
  /** true when an earlier process may have begun this effect already */
  readonly resumed: boolean;
}

export interface ToolContext {
  /** aborts when the turn is interrupted; the tool then stops its effect and settles as `interrupted` with the output so far */
  readonly signal: AbortSignal;
  /** live output for people, transient */
  readonly onOutput: (text: string) => void;
}

export interface ToolSettlement {
  readonly outcome: "ok" | "error" | "interrupted" | "unknown";
  /** what the model reads: capped, with head, tail and counts of what was left out */
  readonly text: string;
  readonly outputHandle: string | null;
  readonly details: JsonObject;
}

export interface Tool {
  readonly description: ToolDescription;
  readonly replay: ReplayPolicy;
  /** one line for people, from valid arguments */
  summarize(args: JsonObject): string;
  run(invocation: ToolInvocation, context: ToolContext): Promise<ToolSettlement>;
}

/** the tools that a turn offers, by name */
export type ToolSet = ReadonlyMap<string, Tool>;
