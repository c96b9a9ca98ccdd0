/**
 * Which model the settings ask for (contract processes, row "models"). A real provider without a model is an error:
 * guessing one would spend somebody's money on a choice that nobody made.
 */
import { BoxError } from "@sand/protocol";

export type ModelChoice =
  | { readonly provider: "offline" }
  | {
      readonly provider: "openai-compatible" | "anthropic";
      readonly baseUrl: string;
      readonly apiKey: string | null;
      readonly model: string;
    };

export interface ModelSettings {
  readonly backendUrl: string | null;
  readonly inferenceTokenFile: string | null;
  readonly inferenceProvider: string | null;
  readonly inferenceBaseUrl: string | null;
  readonly inferenceApiKey: string | null;
  readonly inferenceModel: string | null;
  readonly openRouterKey: string | null;
  readonly anthropicKey: string | null;
  readonly openAiKey: string | null;
}

const openAiUrl = "https://api.openai.com/v1";
const anthropicUrl = "https://api.anthropic.com/v1";
const openRouterUrl = "https://openrouter.ai/api/v1";
const modelHint =
  "set SAND_INFERENCE_MODEL to the name of a model of this provider, or SAND_INFERENCE_PROVIDER=offline";

export function chooseModel(settings: ModelSettings): ModelChoice {
  if (settings.backendUrl !== null && settings.inferenceTokenFile !== null) {
    throw new BoxError(
      "config/invalid",
      "SAND_BACKEND_URL names an inference broker, which this version can't use yet",
      {
        hint: "unset SAND_BACKEND_URL and set SAND_INFERENCE_PROVIDER",
      },
    );
  }
  if (settings.inferenceProvider !== null) return chooseNamed(settings, settings.inferenceProvider);
  if (settings.inferenceBaseUrl !== null) return chooseNamed(settings, "openai-compatible");
  return chooseByKey(settings);
}

function chooseNamed(settings: ModelSettings, provider: string): ModelChoice {
  if (provider === "offline") return { provider: "offline" };
  if (provider === "anthropic") {
    return {
      provider,
      baseUrl: settings.inferenceBaseUrl ?? anthropicUrl,
      apiKey: settings.inferenceApiKey ?? settings.anthropicKey,
      model: requireModel(settings, provider),
    };
  }
  if (provider !== "openai-compatible") {
    throw new BoxError("config/invalid", `SAND_INFERENCE_PROVIDER is ${JSON.stringify(provider)}`, {
      hint: "use offline, openai-compatible or anthropic",
    });
  }
  const model = requireModel(settings, provider);
  return {
    provider,
    baseUrl: settings.inferenceBaseUrl ?? openAiUrl,
    apiKey: settings.inferenceApiKey ?? settings.openAiKey,
    model,
  };
}

function chooseByKey(settings: ModelSettings): ModelChoice {
  if (settings.openRouterKey !== null) {
    return {
      provider: "openai-compatible",
      baseUrl: openRouterUrl,
      apiKey: settings.openRouterKey,
      model: requireModel(settings, "OPENROUTER_API_KEY"),
    };
  }
  if (settings.anthropicKey !== null) {
    return {
      provider: "anthropic",
      baseUrl: anthropicUrl,
      apiKey: settings.anthropicKey,
      model: requireModel(settings, "ANTHROPIC_API_KEY"),
    };
  }
  if (settings.openAiKey !== null) {
    return {
      provider: "openai-compatible",
      baseUrl: openAiUrl,
      apiKey: settings.openAiKey,
      model: requireModel(settings, "OPENAI_API_KEY"),
    };
  }
  return { provider: "offline" };
}

function requireModel(settings: ModelSettings, because: string): string {
  if (settings.inferenceModel !== null) return settings.inferenceModel;
  throw new BoxError("config/invalid", `${because} asks for a real provider, but no model is named`, {
    hint: modelHint,
  });
}
