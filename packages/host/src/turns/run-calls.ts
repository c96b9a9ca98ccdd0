/**
 * Runs the calls of a step side by side. Each settles on its own and is committed at once, so one that fails or hangs
 * takes no other with it; the model reads the results in call order.
 *
 * All intents are committed before the first effect begins. After a crash the same intents are found again: what may
 * run twice is asked for again under the same execution id, what must not is settled as unknown.
 */
import { createHash } from "node:crypto";
import type { CallView, Tool, ToolInvocation } from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import { BoxError, brandId, type CallId, type ExecutionId, type JsonObject } from "@sand/protocol";
import { parseArguments } from "../tools/parse-arguments.ts";
import { createDeltaStream } from "./delta-stream.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { type CallResult, errorResult, settleCall, showCall } from "./settle-call.ts";
import type { TurnContext } from "./turn-context.ts";

/** how long an interrupted tool may take to stop its effect and hand over its output, in `ms` */
const interruptGraceMs = 15_000;

type Plan =
  | { readonly kind: "refuse"; readonly call: CallView; readonly result: CallResult }
  | { readonly kind: "unknown"; readonly call: CallView }
  | {
      readonly kind: "run";
      readonly call: CallView;
      readonly tool: Tool;
      readonly args: JsonObject;
      readonly executionId: ExecutionId;
    };

export async function runCalls(context: TurnContext, calls: readonly CallView[]): Promise<void> {
  const plans = calls.map((call) => planCall(context, call));
  await commitIntents(context, plans);
  failpoint("intent.tool");
  const runs = plans.flatMap((plan) => (plan.kind === "run" ? [runCall(context, plan)] : []));
  // All of them end before a failure is passed on: a call that went on alone would settle beside its own repetition.
  const failed = (await Promise.allSettled(runs)).find((run) => run.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function planCall(context: TurnContext, call: CallView): Plan {
  const tool = context.tools.get(call.call.name);
  if (tool === undefined) {
    const known = [...context.tools.keys()].join(", ");
    return {
      kind: "refuse",
      call,
      result: errorResult(`There is no tool named ${call.call.name}. The tools are: ${known}.`),
    };
  }
  const parsed = parseArguments(call.call.argsText, tool.description.parameters);
  if (!parsed.ok)
    return { kind: "refuse", call, result: { ...errorResult(parsed.text), details: parsed.details } };
  const wasBegun = call.intent !== null && !context.begunHere.has(call.call.callId);
  if (wasBegun && call.intent?.replay === "never") return { kind: "unknown", call };
  return {
    kind: "run",
    call,
    tool,
    args: parsed.args,
    executionId: call.intent?.executionId ?? executionIdOf(context, call.call.callId),
  };
}

/** The executor's key: from the agent and the call (which names turn, step and index), and safe as a folder name. */
function executionIdOf(context: TurnContext, callId: CallId): ExecutionId {
  const digest = createHash("sha256").update(`${context.handle.agentId}\n${callId}`).digest("hex");
  return brandId<ExecutionId>(`ex-${digest.slice(0, 40)}`);
}

async function commitIntents(context: TurnContext, plans: readonly Plan[]): Promise<void> {
  const { handle, fence, services } = context;
  if (plans.every((plan) => plan.kind === "run" && plan.call.intent !== null)) return;
  await handle.commit((tx) => {
    for (const plan of plans) {
      const { callId } = plan.call.call;
      const atMs = services.clock.nowMs();
      if (plan.kind === "refuse") settleCall(tx, context, plan.call, plan.result);
      else if (plan.kind === "unknown") settleCall(tx, context, plan.call, unknownResult());
      else if (plan.call.intent === null) {
        // The review's place: it allows all until reviewers exist, and says so in the journal.
        recordInTurn(tx, fence, { kind: "callReviewed", callId, verdict: "allow", rule: "no-review", atMs });
        recordInTurn(tx, fence, {
          kind: "toolIntended",
          callId,
          executionId: plan.executionId,
          replay: plan.tool.replay,
          atMs,
        });
        showCall(tx, plan.call, "running");
      }
    }
  });
}

async function runCall(context: TurnContext, plan: Extract<Plan, { kind: "run" }>): Promise<void> {
  failpoint("effect.tool.before");
  const result = await performCall(context, plan);
  if (result === null) return;
  failpoint("effect.tool.after");
  await context.handle.commit((tx) => settleCall(tx, context, plan.call, result));
  failpoint("result.tool");
}

/** `null` leaves the call open: for the next start of the host, or for when the box is back. */
async function performCall(
  context: TurnContext,
  plan: Extract<Plan, { kind: "run" }>,
): Promise<CallResult | null> {
  const { handle, fence, services } = context;
  const { callId } = plan.call.call;
  const invocation: ToolInvocation = {
    agentId: handle.agentId,
    turnId: fence.turnId,
    callId,
    executionId: plan.executionId,
    args: plan.args,
    resumed: plan.call.intent !== null,
  };
  const deltas = createDeltaStream(services.publish, {
    agentId: handle.agentId,
    turnId: fence.turnId,
    what: { type: "tool-output", callId },
  });
  context.begunHere.add(callId);
  try {
    return await Promise.race([
      plan.tool.run(invocation, { signal: context.interrupted, onOutput: deltas.add }),
      whenGivenUp(context),
    ]);
  } catch (error) {
    return resultOfFailure(context, plan, error);
  } finally {
    deltas.end();
  }
}

/** Resolves when the call is no longer waited for: at once when the host stops, after a grace when interrupted. */
async function whenGivenUp(context: TurnContext): Promise<CallResult | null> {
  const { stopping, interrupted, services } = context;
  await aborted(AbortSignal.any([stopping, interrupted]));
  if (!stopping.aborted) await services.clock.sleep(interruptGraceMs, stopping);
  return stopping.aborted
    ? null
    : { ...unknownResult(), text: "The call was interrupted and did not stop in time." };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function resultOfFailure(
  context: TurnContext,
  plan: Extract<Plan, { kind: "run" }>,
  error: unknown,
): CallResult | null {
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

function unknownResult(): CallResult {
  const text =
    "Whether this call took effect is not known: it may or may not have happened, and it was not run again.";
  return { outcome: "unknown", text, outputHandle: null, details: {} };
}
