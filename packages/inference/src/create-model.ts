/**
 * Makes the model that the configuration names.
 *
 * A provider's module is loaded with the first request and not before: a host that never speaks to a provider, and
 * the host's start, don't pay for its library.
 */
import type { ModelPart, ModelPort, ModelRequest } from "@sand/agent-core";
import { BoxError, type Clock } from "@sand/protocol";
import { maxOutputTokensDefault, type StreamLimits, streamLimits } from "./limits.ts";
import { createOfflineModel } from "./offline/offline-model.ts";

export interface OfflineConfig {
  readonly provider: "offline";
}

export interface OpenAiCompatibleConfig {
  readonly provider: "openai-compatible";
  /** up to and with the version, for instance `https://api.openai.com/v1` */
  readonly baseUrl: string;
  /** `null` for a server that asks for none */
  readonly apiKey: string | null;
  readonly model: string;
  readonly limits?: Partial<StreamLimits>;
  /** whether to ask for usage in the stream, which a few servers refuse; yes when left out */
  readonly includeUsage?: boolean;
}

export interface AnthropicConfig {
  readonly provider: "anthropic";
  /** up to and with the version, for instance `https://api.anthropic.com/v1` */
  readonly baseUrl: string;
  /** `null` for a server that asks for none */
  readonly apiKey: string | null;
  readonly model: string;
  readonly limits?: Partial<StreamLimits>;
  /** tokens of an answer when a request names no number */
  readonly maxOutputTokens?: number;
  /** tokens that the model may think with, on top of its answer; left out, thinking is as the model has it */
  readonly thinkingTokens?: number;
  /** whether to mark the request for the provider's prompt cache, which a few servers refuse; yes when left out */
  readonly markCache?: boolean;
}

export type ModelConfig = OfflineConfig | OpenAiCompatibleConfig | AnthropicConfig;

export interface ModelDeps {
  readonly clock: Clock;
}

export function createModel(config: ModelConfig, deps: ModelDeps): ModelPort {
  switch (config.provider) {
    case "offline":
      return createOfflineModel();
    case "openai-compatible":
      return createChatModel(config, deps);
    case "anthropic":
      return createMessagesModel(config, deps);
  }
}

function createChatModel(config: OpenAiCompatibleConfig, { clock }: ModelDeps): ModelPort {
  const settings = {
    provider: config.provider,
    baseUrl: parseBaseUrl(config.baseUrl),
    apiKey: config.apiKey,
    model: config.model,
    limits: { ...streamLimits, ...config.limits },
    includeUsage: config.includeUsage ?? true,
    clock,
  };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    const { streamChatCompletion } = await import("./openai-compatible/stream-chat-completion.ts");
    yield* streamChatCompletion(settings, request, signal);
  }

  return { provider: config.provider, model: config.model, stream };
}

function createMessagesModel(config: AnthropicConfig, { clock }: ModelDeps): ModelPort {
  const { provider, model, apiKey } = config;
  const settings = {
    provider,
    baseUrl: parseBaseUrl(config.baseUrl),
    apiKey,
    model,
    limits: { ...streamLimits, ...config.limits },
    maxOutputTokens: config.maxOutputTokens ?? maxOutputTokensDefault,
    thinkingTokens: config.thinkingTokens ?? null,
    markCache: config.markCache ?? true,
    clock,
  };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    const { streamMessage } = await import("./anthropic/stream-message.ts");
    yield* streamMessage(settings, request, signal);
  }

  return { provider, model, stream };
}

function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  const hint = "give it with its version, for instance https://api.openai.com/v1";
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    throw new BoxError("config/invalid", "the model's base URL must start with http:// or https://", {
      hint,
    });
  }
  // A key in the URL would end up in messages and logs.
  if (url.username !== "" || url.password !== "") {
    throw new BoxError("config/invalid", "the model's base URL must not carry a name or a password", {
      hint,
    });
  }
  return text.replace(/\/+$/u, "");
}
