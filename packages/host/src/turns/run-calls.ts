/**
 * Runs the calls of a step side by side. Each settles on its own and is committed at once, so one that fails or hangs
 * takes no other with it; the model reads the results in call order.
 *
 * All intents are committed before the first effect begins, mostly with the step that asked for them. The result of
 * the last one is committed together with the intent of the model call that follows.
 */
import {
  type CallView,
  type PromptRow,
  reduceTurn,
  type ToolInvocation,
  type TurnRecord,
  type TurnView,
} from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { createDeltaStream } from "./delta-stream.ts";
import { areRecorded, planCalls, type RunPlan, recordPlans, unknownResult } from "./plan-calls.ts";
import { prepareStep, recordPrepared } from "./prepare-step.ts";
import { type CallResult, errorResult, settleCall, settledRecord } from "./settle-call.ts";
import { nextEffect, type PreparedStep, type TurnContext } from "./turn-context.ts";

/** how long an interrupted tool may take to stop its effect and hand over its output, in `ms` */
const interruptGraceMs = 15_000;

export async function runCalls(context: TurnContext, calls: readonly CallView[]): Promise<void> {
  const plans = planCalls(context, calls);
  if (!areRecorded(plans)) {
    const intended = await context.handle.commit((tx) => recordPlans(tx, context, plans));
    for (const callId of intended) context.intendedHere.add(callId);
  }
  failpoint("intent.tool");
  const runs = plans.flatMap((plan) => (plan.kind === "run" ? [runCall(context, plan)] : []));
  // All of them end before a failure is passed on: a call that went on alone would settle beside its own repetition.
  const failed = (await Promise.allSettled(runs)).find((run) => run.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function runCall(context: TurnContext, plan: RunPlan): Promise<void> {
  failpoint("effect.tool.before");
  const result = await performCall(context, plan);
  if (result === null) return;
  failpoint("effect.tool.after");
  await commitResult(context, plan.call, result);
  failpoint("result.tool");
}

/** The result and, when the model comes next, the intent of its call: one commit between the tools and the model. */
async function commitResult(context: TurnContext, call: CallView, result: CallResult): Promise<void> {
  const { handle } = context;
  const before = handle.turn();
  const isOurs = before !== null && before.turnId === context.fence.turnId;
  const following = isOurs ? prepareFollowing(context, before, settledRecord(context, call, result)) : null;
  context.prepared = await handle.commit((tx) => {
    settleCall(tx, context, call, result);
    // Another change may have come in between; then the loop decides anew, and makes a commit of its own.
    if (following === null || handle.turn() !== before || !isNext(context, following, tx.pendingPrompts()))
      return null;
    recordPrepared(tx, context, following.prepared);
    return following.prepared;
  });
}

interface Following {
  /** the turn with the result in it */
  readonly view: TurnView;
  readonly prepared: PreparedStep;
}

function prepareFollowing(context: TurnContext, before: TurnView, settled: TurnRecord): Following | null {
  const view = reduceTurn(before, settled);
  const next = nextEffect(context, view, context.handle.store.read.pendingPrompts());
  return next.type === "callModel" ? { view, prepared: prepareStep(context, view, next) } : null;
}

function isNext(context: TurnContext, { view }: Following, pending: readonly PromptRow[]): boolean {
  return nextEffect(context, view, pending).type === "callModel";
}

/** `null` leaves the call open: for the next start of the host, or for when the box is back. */
async function performCall(context: TurnContext, plan: RunPlan): Promise<CallResult | null> {
  const { handle, fence, services } = context;
  const { callId } = plan.call.call;
  const invocation: ToolInvocation = {
    agentId: handle.agentId,
    turnId: fence.turnId,
    callId,
    executionId: plan.executionId,
    args: plan.args,
    resumed: plan.call.intent !== null && !context.intendedHere.has(callId),
  };
  const deltas = createDeltaStream(services.publish, {
    agentId: handle.agentId,
    turnId: fence.turnId,
    what: { type: "tool-output", callId },
  });
  context.intendedHere.delete(callId);
  context.begunHere.add(callId);
  try {
    return await Promise.race([
      plan.tool.run(invocation, { signal: context.interrupted, onOutput: deltas.add }),
      whenGivenUp(context, endOfWait(context, plan)),
    ]);
  } catch (error) {
    return resultOfFailure(context, plan, error);
  } finally {
    deltas.end();
  }
}

/** An upgrade doesn't wait for what may be asked for again: the box goes on with it, and the next host takes it up. */
function endOfWait({ stopping, quiescing }: TurnContext, { tool }: RunPlan): AbortSignal {
  return tool.replay === "never" ? stopping : AbortSignal.any([stopping, quiescing]);
}

/** Resolves when the call is no longer waited for: at once when `ending` aborts, after a grace when interrupted. */
async function whenGivenUp(
  { interrupted, services }: TurnContext,
  ending: AbortSignal,
): Promise<CallResult | null> {
  await aborted(AbortSignal.any([ending, interrupted]));
  if (!ending.aborted) await services.clock.sleep(interruptGraceMs, ending);
  return ending.aborted
    ? null
    : { ...unknownResult(), text: "The call was interrupted and did not stop in time." };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function resultOfFailure(context: TurnContext, plan: RunPlan, error: unknown): CallResult | null {
  const { logger } = context.services;
  if (context.stopping.aborted) return null;
  if (error instanceof BoxError && (error.code === "box/unavailable" || error.code === "box/unauthorized")) {
    context.boxIsReady = false;
    return plan.tool.replay === "never" ? unknownResult() : null;
  }
  logger.error(
    { event: "tool.failed", callId: plan.call.call.callId, err: error },
    "a tool failed in a way that it should have reported",
  );
  const message = error instanceof BoxError ? error.message : "the tool failed inside the host";
  return errorResult(`This call failed: ${message}`);
}
