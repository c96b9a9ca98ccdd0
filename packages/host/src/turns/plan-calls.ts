/**
 * Decides what is to be done with the calls of a step, and records it: the intent of each that runs, the result of each
 * that can't.
 *
 * An intent that another run left behind may have been followed by its effect. What may run twice is then asked for
 * again under the same execution id; what must not is settled as unknown.
 */
import { createHash } from "node:crypto";
import type { CallView, Tool, ToolCallRecord } from "@sand/agent-core";
import { type AgentId, brandId, type CallId, type ExecutionId, type JsonObject } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { parseArguments } from "../tools/parse-arguments.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { type CallResult, errorResult, settleCall, showCall } from "./settle-call.ts";
import type { TurnContext } from "./turn-context.ts";

export interface RunPlan {
  readonly kind: "run";
  readonly call: CallView;
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly executionId: ExecutionId;
}

export type Plan =
  | { readonly kind: "settle"; readonly call: CallView; readonly result: CallResult }
  | RunPlan;

export function planCalls(context: TurnContext, calls: readonly CallView[]): readonly Plan[] {
  return calls.map((call) => planCall(context, call));
}

function planCall(context: TurnContext, call: CallView): Plan {
  const { callId, name, argsText } = call.call;
  const settle = (result: CallResult): Plan => ({ kind: "settle", call, result });
  if (context.intendedHere.has(callId) && isInterrupted(context)) return settle(notRunResult());
  const judged = judgeCall({ name, argsText }, context.tools);
  if (judged.kind === "refuse") return settle(judged.result);
  const { tool, args } = judged;
  if (mayBeUnderWay(context, call) && call.intent?.replay === "never") return settle(unknownResult());
  const executionId = call.intent?.executionId ?? executionIdOf(context.handle.agentId, callId);
  return { kind: "run", call, tool, args, executionId };
}

export type JudgedCall<Known> =
  /** it can't be run, and the model is told why */
  | { readonly kind: "refuse"; readonly result: CallResult }
  | { readonly kind: "run"; readonly tool: Known; readonly args: JsonObject };

/** Whether a call can be run, by what it asks for alone. */
export function judgeCall<Known extends Pick<Tool, "description">>(
  { name, argsText }: Pick<ToolCallRecord, "name" | "argsText">,
  tools: ReadonlyMap<string, Known>,
): JudgedCall<Known> {
  const tool = tools.get(name);
  if (tool === undefined) {
    const known = [...tools.keys()].join(", ");
    return {
      kind: "refuse",
      result: errorResult(`There is no tool named ${name}. The tools are: ${known}.`),
    };
  }
  const parsed = parseArguments(argsText, tool.description.parameters);
  if (parsed.ok) return { kind: "run", tool, args: parsed.args };
  return { kind: "refuse", result: { ...errorResult(parsed.text), details: parsed.details } };
}

/** The record may be there a moment before the signal. */
function isInterrupted({ interrupted, handle }: TurnContext): boolean {
  return interrupted.aborted || (handle.turn()?.interruptedBy ?? null) !== null;
}

/** An earlier run committed the intent; whether it came to the effect isn't known. */
function mayBeUnderWay({ begunHere, intendedHere }: TurnContext, { call, intent }: CallView): boolean {
  return intent !== null && !begunHere.has(call.callId) && !intendedHere.has(call.callId);
}

/** The executor's key: from the agent and the call (which names turn, step and index), and safe as a folder name. */
export function executionIdOf(agentId: AgentId, callId: CallId): ExecutionId {
  const digest = createHash("sha256").update(`${agentId}\n${callId}`).digest("hex");
  return brandId<ExecutionId>(`ex-${digest.slice(0, 40)}`);
}

/** True when the plans say nothing that isn't on record. */
export function areRecorded(plans: readonly Plan[]): boolean {
  return plans.every((plan) => plan.kind === "run" && plan.call.intent !== null);
}

/** Returns the calls that have got their intent here. */
export function recordPlans(tx: ChangeTx, context: TurnContext, plans: readonly Plan[]): readonly CallId[] {
  const intended: CallId[] = [];
  for (const plan of plans) {
    if (plan.kind === "settle") settleCall(tx, context, plan.call, plan.result);
    else if (plan.call.intent === null) {
      recordIntent(tx, context, plan);
      intended.push(plan.call.call.callId);
    }
  }
  return intended;
}

function recordIntent(tx: ChangeTx, { fence, services }: TurnContext, plan: RunPlan): void {
  const { callId } = plan.call.call;
  const { executionId } = plan;
  const { replay } = plan.tool;
  const atMs = services.clock.nowMs();
  // The review's place: it allows all until reviewers exist, and says so in the journal.
  recordInTurn(tx, fence, { kind: "callReviewed", callId, verdict: "allow", rule: "no-review", atMs });
  recordInTurn(tx, fence, { kind: "toolIntended", callId, executionId, replay, atMs });
  showCall(tx, plan.call, "running");
}

export function unknownResult(): CallResult {
  const text =
    "Whether this call took effect is not known: it may or may not have happened, and it was not run again.";
  return { outcome: "unknown", text, outputHandle: null, details: {} };
}

function notRunResult(): CallResult {
  const text = "The turn was interrupted before this call was run.";
  return { outcome: "interrupted", text, outputHandle: null, details: {} };
}
