/** Which model provider a host started with this configuration will use, by the order that the host follows. */
import type { CliConfig } from "../config.ts";

export interface ModelChoice {
  readonly provider: string;
  readonly model: string | undefined;
  /** what is missing or wrong, with what to do */
  readonly problem: string | undefined;
}

export function describeModel(config: CliConfig): ModelChoice {
  const { model, secrets } = config;
  const withModel = (provider: string): ModelChoice => ({
    provider,
    model,
    problem: model === undefined ? `${provider} needs a model: set SAND_INFERENCE_MODEL` : undefined,
  });
  if (config.backendUrl !== undefined && config.backendTokenFile !== undefined) {
    return {
      provider: "backend",
      model,
      problem: "SAND_BACKEND_URL can't be used by this version yet: unset it",
    };
  }
  if (config.provider === "offline") return { provider: "offline", model: undefined, problem: undefined };
  if (config.provider !== undefined || config.providerUrl !== undefined) {
    return withModel(config.provider ?? "openai-compatible");
  }
  if (secrets.OPENROUTER_API_KEY !== undefined) return withModel("openrouter");
  if (secrets.ANTHROPIC_API_KEY !== undefined) return withModel("anthropic");
  if (secrets.OPENAI_API_KEY !== undefined) return withModel("openai");
  return { provider: "offline", model: undefined, problem: undefined };
}

export function modelLine(choice: ModelChoice): string {
  if (choice.provider === "offline")
    return "offline (a small rule-driven stand-in; see README for a real one)";
  return choice.model === undefined ? choice.provider : `${choice.provider}, ${choice.model}`;
}
