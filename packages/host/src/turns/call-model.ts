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
  type ToolCallRecord,
} from "@sand/agent-core";
import { failpoint } from "@sand/node-kit";
import {
  brandId,
  type CallId,
  type Clock,
  type EntryId,
  type RequestId,
  type ToolCallEntry,
} from "@sand/protocol";
import { retryingKey } from "../agents/summarize-agent.ts";
import { buildRequest, hashRequest } from "./build-request.ts";
import { createDeltaStream } from "./delta-stream.ts";
import { describeCall } from "./describe-call.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { type TurnContext, viewOf } from "./turn-context.ts";

type ModelCall = Extract<Effect, { type: "callModel" }>;

export async function callModel(context: TurnContext, call: ModelCall): Promise<void> {
  const { handle, fence, services } = context;
  const requestId = brandId<RequestId>(services.ids.next());
  const request = buildRequest(context, requestId);
  const wasRetrying = viewOf(context).attempt?.lastFailure != null;
  await handle.commit((tx) => {
    const prepared = {
      kind: "stepPrepared",
      ...positionOf(call),
      requestId,
      requestHash: hashRequest(request),
    } as const;
    recordInTurn(tx, fence, { ...prepared, atMs: services.clock.nowMs() });
    if (wasRetrying) tx.setValue(retryingKey, false);
    if (wasRetrying) tx.rosterChanged();
  });
  failpoint("intent.model");
  const collected = await streamStep(context, call, request);
  if (collected === null) return;
  failpoint("effect.model.end");
  if (collected.kind === "completed") await commitStep(context, call, requestId, collected);
  else await commitFailure(context, call, collected);
  failpoint("result.model");
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

async function commitStep(
  context: TurnContext,
  call: ModelCall,
  requestId: RequestId,
  step: CompletedStep,
): Promise<void> {
  const { handle, fence, services } = context;
  const calls = nameCalls(context, call.step, step);
  const isAnswer = calls.length === 0 && step.text !== "";
  const answerEntryId = isAnswer ? brandId<EntryId>(`${fence.turnId}.s${call.step}.answer`) : null;
  const { finish, text, usage, rawParts, reasoningMs } = step;
  const { provider, model } = services.model;
  await handle.commit((tx) => {
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
  });
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
