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
  type TurnView,
} from "@sand/agent-core";
import { canonicalJson, type RequestId } from "@sand/protocol";
import { asJson } from "../agents/agent-handle.ts";
import { systemText } from "../prompts/system-text.ts";
import type { TurnContext } from "./turn-context.ts";
import { viewOf } from "./turn-context.ts";

/** turns read from the store at a time while the window is filled */
const turnsPerPage = 16;

export function buildRequest(context: TurnContext, requestId: RequestId): ModelRequest {
  const { services } = context;
  const view = viewOf(context);
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
      const turn = reduceTurnRecords(read.records(row.turnId));
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

/** SHA-256 of what is sent, hex; the request id isn't part of it, so a repeated attempt has the same hash. */
export function hashRequest(request: ModelRequest): string {
  const { messages, tools, parameters, dropReasoning } = request;
  const sent = { messages, tools, parameters, ...(dropReasoning === true ? { dropReasoning } : {}) };
  return createHash("sha256")
    .update(canonicalJson(asJson(sent)))
    .digest("hex");
}
