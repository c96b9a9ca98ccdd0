/** Makes the request of a model call and records its intent, which is committed before the call (INV-1). */
import type { TurnView } from "@sand/agent-core";
import { brandId, type RequestId } from "@sand/protocol";
import type { ChangeTx } from "../agents/agent-handle.ts";
import { buildRequest, hashRequest } from "./build-request.ts";
import { recordInTurn } from "./record-in-turn.ts";
import { keepBasis } from "./request-basis.ts";
import type { PreparedStep, TurnContext } from "./turn-context.ts";

/** `view` is the turn as it will be when the call is made. */
export function prepareStep(
  context: TurnContext,
  view: TurnView,
  call: { readonly step: number; readonly attempt: number },
): PreparedStep {
  const requestId = brandId<RequestId>(context.services.ids.next());
  const { step, attempt } = call;
  return { step, attempt, request: buildRequest(context, view, requestId) };
}

export function recordPrepared(
  tx: ChangeTx,
  context: TurnContext,
  { step, attempt, request }: PreparedStep,
): void {
  const { fence, services } = context;
  const { requestId } = request;
  const requestHash = hashRequest(request);
  const basis = keepBasis(tx, context, request);
  const atMs = services.clock.nowMs();
  recordInTurn(tx, fence, { kind: "stepPrepared", step, attempt, requestId, requestHash, basis, atMs });
}
