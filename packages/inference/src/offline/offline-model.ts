/** The offline model behind the port: streams a fixed answer in a few chunks, reaches no network, costs nothing. */
import type { ModelPart, ModelPort, ModelRequest, UsageRecord } from "@sand/agent-core";
import { makeSafeText } from "../safe-text.ts";
import { answerOffline } from "./answer-offline.ts";

/** most text deltas of one answer */
const chunksMax = 6;
const chunkMinChars = 24;

const noTokens: UsageRecord = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
};

export function createOfflineModel(): ModelPort {
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    const { text, call } = answerOffline(request.messages, request.tools);
    for (const chunk of chunksOf(makeSafeText(text))) {
      if (signal.aborted) return;
      yield { type: "text-delta", text: chunk };
    }
    if (signal.aborted) return;
    if (call !== undefined) {
      const { providerCallId, name, args } = call;
      yield { type: "tool-call", providerCallId, name, argsText: JSON.stringify(args) };
    }
    yield { type: "finish", finish: call === undefined ? "stop" : "tool-calls", usage: noTokens };
  }
  return { provider: "offline", model: "offline-rules", stream };
}

function chunksOf(text: string): readonly string[] {
  const points = Array.from(text);
  const size = Math.max(chunkMinChars, Math.ceil(points.length / chunksMax));
  const count = Math.ceil(points.length / size);
  return Array.from({ length: count }, (_, at) => points.slice(at * size, (at + 1) * size).join(""));
}
