/**
 * One model call: intent, stream, result.
 *
 * A crash before the result costs one model call and never a side effect, because only a committed step starts tools.
 * An interrupt ends the stream and commits nothing of it: a partial answer was shown while it came, and is no history.
 */
import {
  type CollectedStep,
  createStepCollector,
  type Effect,
  type ModelRequest,
  planRetry,
  reduceTurn,
  type ToolCallRecord,
} from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import { brandId, type CallId, type Clock, type EntryId, type ToolCallEntry } from "@sand/protocol";
import { retryingKey } from "../agents/summarize-agent.ts";
import { createDeltaStream } from "./delta-stream.ts";
import { describeCall } from "./describe-call.ts";
import { planCalls, recordPlans } from "./plan-calls.ts";
import { prepareStep, recordPrepared } from "./prepare-step.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { nextEffect, type PreparedStep, type TurnContext, viewOf } from "./turn-context.ts";

type ModelCall = Extract<Effect, { type: "callModel" }>;

export async function callModel(context: TurnContext, call: ModelCall): Promise<void> {
  const { request } = takePrepared(context, call) ?? (await commitIntent(context, call));
  failpoint("intent.model");
  const collected = await streamStep(context, call, request);
  if (collected === null) return;
  failpoint("effect.model.end");
  if (collected.kind === "completed") await commitStep(context, request, call, collected);
  else await commitFailure(context, call, collected);
  failpoint("result.model");
}

/** The intent that was committed with the results before it. It's for this one call, whatever comes of it. */
function takePrepared(context: TurnContext, call: ModelCall): PreparedStep | undefined {
  const { prepared } = context;
  context.prepared = null;
  const isThis = prepared?.step === call.step && prepared.attempt === call.attempt;
  return isThis ? prepared : undefined;
}

async function commitIntent(context: TurnContext, call: ModelCall): Promise<PreparedStep> {
  const view = viewOf(context);
  const prepared = prepareStep(context, view, call);
  const wasRetrying = view.attempt?.lastFailure != null;
  await context.handle.commit((tx) => {
    recordPrepared(tx, context, prepared);
    if (wasRetrying) tx.setValue(retryingKey, false);
    if (wasRetrying) tx.rosterChanged();
  });
  return prepared;
}

function positionOf(call: ModelCall): { readonly step: number; readonly attempt: number } {
  return { step: call.step, attempt: call.attempt };
}

/** `null` when the call was ended from outside: then nothing of it counts. */
async function streamStep(
  context: TurnContext,
  call: ModelCall,
  request: ModelRequest,
): Promise<StreamedStep | null> {
  const { handle, fence, services } = context;
  const signal = AbortSignal.any([context.interrupted, context.stopping]);
  const subject = {
    agentId: handle.agentId,
    turnId: fence.turnId,
    what: { type: "text", step: call.step },
  } as const;
  const deltas = createDeltaStream(services.publish, subject);
  const collector = createStepCollector();
  const thinking = createStretch(services.clock);
  let isFirst = true;
  for await (const part of services.model.stream(request, signal)) {
    if (isFirst) failpoint("effect.model.begin");
    isFirst = false;
    collector.add(part);
    if (part.type === "reasoning-delta") thinking.mark();
    if (part.type === "text-delta") deltas.add(part.text);
    if (signal.aborted) break;
  }
  deltas.end();
  return signal.aborted ? null : { ...collector.result(), reasoningMs: thinking.ms() };
}

/** Time from the first mark to the last, in `ms`; not above 0 without two marks, or when the clock was set back. */
function createStretch(clock: Clock): { mark(): void; ms(): number } {
  let first: number | undefined;
  let last = 0;
  return {
    mark() {
      last = clock.nowMs();
      first ??= last;
    },
    ms: () => (first === undefined ? 0 : last - first),
  };
}

/** a step as collected, and how long its reasoning came for */
type StreamedStep = CollectedStep & { readonly reasoningMs: number };

type CompletedStep = Extract<StreamedStep, { kind: "completed" }>;

/** The result and, where its calls may run at once, their intents: one commit between the model and the tools. */
async function commitStep(
  context: TurnContext,
  { requestId }: ModelRequest,
  call: ModelCall,
  step: CompletedStep,
): Promise<void> {
  const { handle, fence, services } = context;
  const calls = nameCalls(context, call.step, step);
  const isAnswer = calls.length === 0 && step.text !== "";
  const answerEntryId = isAnswer ? brandId<EntryId>(`${fence.turnId}.s${call.step}.answer`) : null;
  const { finish, text, usage, rawParts, reasoningMs } = step;
  const { provider, model } = services.model;
  const before = viewOf(context);
  const intended = await handle.commit((tx) => {
    const atMs = services.clock.nowMs();
    const completed = {
      kind: "stepCompleted",
      ...positionOf(call),
      finish,
      text,
      answerEntryId,
      calls,
      usage,
      provider,
      model,
      rawParts,
      ...(reasoningMs > 0 ? { reasoningMs } : {}),
      atMs,
    } as const;
    recordInTurn(tx, fence, completed);
    for (const one of calls) tx.addEntry(entryOfCall(context, one, atMs));
    if (answerEntryId !== null) {
      const message = { type: "text", content: text } as const;
      tx.addEntry({ kind: "send-message", id: answerEntryId, message, requestId, timestampMs: atMs });
    }
    const next = nextEffect(context, reduceTurn(before, completed), tx.pendingPrompts());
    return next.type === "runCalls" ? recordPlans(tx, context, planCalls(context, next.calls)) : [];
  });
  for (const callId of intended) context.intendedHere.add(callId);
}

/** Gives each call our own id, and mints the provider's where it sent none or one twice. */
function nameCalls(context: TurnContext, step: number, completed: CompletedStep): readonly ToolCallRecord[] {
  const seen = new Set<string>();
  return completed.calls.map((received, index) => {
    const callId = brandId<CallId>(`${context.fence.turnId}.s${step}.c${index}`);
    const given = received.providerCallId;
    const providerCallId =
      given === null || given === "" || seen.has(given)
        ? `call_${step}_${index}_${context.services.ids.next().slice(0, 8)}`
        : given;
    seen.add(providerCallId);
    return {
      callId,
      providerCallId,
      entryId: brandId<EntryId>(callId),
      name: received.name,
      argsText: received.argsText,
    };
  });
}

function entryOfCall(context: TurnContext, call: ToolCallRecord, atMs: number): ToolCallEntry {
  const { summary, argsPreview } = describeCall(context.tools, call);
  return {
    kind: "tool-call",
    id: call.entryId,
    name: call.name,
    status: "pending",
    summary,
    argsPreview,
    outputHandle: null,
    timestampMs: atMs,
    turnId: context.fence.turnId,
  };
}

type FailedStep = Extract<CollectedStep, { kind: "failed" }>;

async function commitFailure(context: TurnContext, call: ModelCall, failed: FailedStep): Promise<void> {
  const { handle, fence, services } = context;
  const atMs = services.clock.nowMs();
  const earlierFailures = viewOf(context).attempt?.failures ?? 0;
  const { code, message, retryable, retryAfterMs } = failed;
  const retryAtMs = planRetry({ retryable, retryAfterMs, earlierFailures }, atMs);
  await handle.commit((tx) => {
    recordInTurn(tx, fence, { kind: "stepFailed", ...positionOf(call), code, message, retryAtMs, atMs });
    tx.setValue(retryingKey, retryAtMs !== null);
    tx.rosterChanged();
  });
  services.logger.warn(
    {
      event: "model.failed",
      agentId: handle.agentId,
      turnId: fence.turnId,
      step: call.step,
      code,
      retryAtMs,
    },
    "a model call failed",
  );
}
