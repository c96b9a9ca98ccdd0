/**
 * Builds the request of a model step: the newest whole turns that fit the window, then the open turn. Earlier turns
 * are read by index and once for each turn, so a step costs what is new, not what is stored.
 */
import { createHash } from "node:crypto";
import {
  buildMessages,
  estimateTokens,
  type ModelRequest,
  messagesOfTurn,
  reduceTurnRecords,
  type TurnRecord,
  type TurnView,
} from "@sand/agent-core";
import { BoxError, type RequestId, type TurnId } from "@sand/protocol";
import { systemText } from "../prompts/system-text.ts";
import type { TurnContext } from "./turn-context.ts";

/** turns read from the store at a time while the window is filled */
export const turnsPerPage = 16;

/** `view` is the open turn as it will be when the request is made. */
export function buildRequest(context: TurnContext, view: TurnView, requestId: RequestId): ModelRequest {
  const { services } = context;
  context.history ??= readHistory(context, services.windowTokensMax - estimateTokens(messagesOfTurn(view)));
  const system = systemText({ profile: context.handle.profile(), workspaceRoot: services.workspaceRoot });
  const messages = buildMessages(system, [...context.history, view]);
  const tools = [...context.tools.values()].map((tool) => tool.description);
  const request = { requestId, messages, tools, parameters: {} };
  return view.reasoningRefused ? { ...request, dropReasoning: true } : request;
}

/** The newest settled turns that fit into `tokensMax`, oldest first. A turn is taken whole or not at all. */
function readHistory(context: TurnContext, tokensMax: number): readonly TurnView[] {
  const { read } = context.handle.store;
  const newestFirst: TurnView[] = [];
  let left = tokensMax;
  let beforeGeneration = context.fence.generation;
  for (;;) {
    const page = read.settledTurns({ limit: turnsPerPage, beforeGeneration });
    for (const row of page) {
      const records = readRecords(context, row.turnId);
      if (records === undefined) return newestFirst.reverse();
      const turn = reduceTurnRecords(records);
      if (turn === undefined) continue;
      left -= estimateTokens(messagesOfTurn(turn));
      if (left < 0) return newestFirst.reverse();
      newestFirst.push(turn);
    }
    const oldest = page.at(-1);
    if (oldest === undefined || page.length < turnsPerPage) return newestFirst.reverse();
    beforeGeneration = oldest.generation;
  }
}

/**
 * The records of a turn, or nothing when a payload that they name is lost: what came later is still told to the model,
 * and the loss to the operator, instead of the agent standing still for good.
 */
function readRecords({ handle, services }: TurnContext, turnId: TurnId): readonly TurnRecord[] | undefined {
  try {
    return handle.store.read.records(turnId);
  } catch (error) {
    if (!(error instanceof BoxError && error.code === "store/damaged" && error.details.blob !== undefined))
      throw error;
    services.logger.error(
      { event: "history.unreadable", agentId: handle.agentId, turnId, err: error },
      "a turn's payload is lost; the model is told what came after it",
    );
    return undefined;
  }
}

/**
 * SHA-256 of what is sent, hex; the request id isn't part of it, so a repeated attempt has the same hash. Requests are
 * built by one piece of code from records that keep the order of their members, so their JSON is the same text too.
 */
export function hashRequest(request: ModelRequest): string {
  const { messages, tools, parameters, dropReasoning } = request;
  const sent = { messages, tools, parameters, ...(dropReasoning === true ? { dropReasoning } : {}) };
  return createHash("sha256").update(JSON.stringify(sent)).digest("hex");
}
