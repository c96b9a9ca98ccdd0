/** What the tests of the port share: a request, a way to collect a stream, and a model of our scripted server. */
import type { ModelMessage, ModelPart, ModelPort, ModelRequest, ToolDescription } from "@sand/agent-core";
import { type AnthropicConfig, createModel, type OpenAiCompatibleConfig } from "@sand/inference";
import { systemClock } from "@sand/node-kit";
import { brandId, type RequestId } from "@sand/protocol";
import type { ScriptedModel } from "@sand/testkit/model-server";

export const shellTool: ToolDescription = {
  name: "Shell",
  description: "Runs a command.",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};

export function userRequest(text: string, rest: Partial<ModelRequest> = {}): ModelRequest {
  return requestOf(
    [
      { role: "system", text: "You are a test." },
      { role: "user", text },
    ],
    rest,
  );
}

export function requestOf(messages: readonly ModelMessage[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    requestId: brandId<RequestId>("request-1"),
    messages,
    tools: [shellTool],
    parameters: {},
    ...rest,
  };
}

export function modelOf(server: ScriptedModel, rest: Partial<OpenAiCompatibleConfig> = {}): ModelPort {
  return createModel(
    {
      provider: "openai-compatible",
      baseUrl: server.baseUrl,
      apiKey: "key-for-tests",
      model: "scripted",
      ...rest,
    },
    { clock: systemClock },
  );
}

export function messagesModelOf(server: ScriptedModel, rest: Partial<AnthropicConfig> = {}): ModelPort {
  return createModel(
    { provider: "anthropic", baseUrl: server.baseUrl, apiKey: "key-for-tests", model: "scripted", ...rest },
    { clock: systemClock },
  );
}

/** what both adapters take in the tests of what both promise */
export type SharedConfig = Pick<Partial<OpenAiCompatibleConfig>, "limits" | "apiKey" | "baseUrl">;

export interface Adapter {
  readonly name: "openai-compatible" | "anthropic";
  readonly modelOf: (server: ScriptedModel, rest?: SharedConfig) => ModelPort;
  /** data of one frame that brings a text, given as JSON writes it */
  readonly textFrame: (escaped: string) => string;
}

export const adapters: readonly Adapter[] = [
  {
    name: "openai-compatible",
    modelOf,
    textFrame: (escaped) => `{"choices":[{"index":0,"delta":{"content":"${escaped}"}}]}`,
  },
  {
    name: "anthropic",
    modelOf: messagesModelOf,
    textFrame: (escaped) =>
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${escaped}"}}`,
  },
];

/** ample for a healthy loopback exchange; an unbounded wait would hide a stream that never ends */
const collectMaxMs = 20_000;

export async function collect(
  model: ModelPort,
  request: ModelRequest,
  signal: AbortSignal = AbortSignal.timeout(collectMaxMs),
): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, signal)) parts.push(part);
  return parts;
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.text : "")).join("");
}

export function callsOf(
  parts: readonly ModelPart[],
): readonly Extract<ModelPart, { readonly type: "tool-call" }>[] {
  return parts.filter((part) => part.type === "tool-call");
}

export function endOf(parts: readonly ModelPart[]): string {
  const last = parts.at(-1);
  if (last?.type === "finish") return `finish ${last.finish}`;
  if (last?.type === "error") return `${last.code}${last.retryable ? " retryable" : ""}`;
  return "no end";
}
