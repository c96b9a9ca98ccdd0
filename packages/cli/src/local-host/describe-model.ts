/** Which model provider a host started with this configuration will use, by the order that the host follows. */
import type { CliConfig } from "../config.ts";

export interface ModelChoice {
  readonly provider: string;
  readonly model: string | undefined;
  /** where it answers, when the settings name a place */
  readonly url: string | undefined;
  /** what is missing or wrong, with what to do */
  readonly problem: string | undefined;
}

const offline: ModelChoice = { provider: "offline", model: undefined, url: undefined, problem: undefined };
const namedProviders: ReadonlySet<string> = new Set(["openai-compatible", "anthropic"]);

export function describeModel(config: CliConfig): ModelChoice {
  const { secrets } = config;
  if (config.backendUrl !== undefined && config.backendTokenFile !== undefined) {
    return {
      provider: "backend",
      model: config.model,
      url: undefined,
      problem: "SAND_BACKEND_URL can't be used by this version yet: unset it",
    };
  }
  if (config.provider === "offline") return offline;
  if (config.provider !== undefined || config.providerUrl !== undefined) return describeNamed(config);
  if (secrets.OPENROUTER_API_KEY !== undefined) return describeKeyed(config, "openrouter");
  if (secrets.ANTHROPIC_API_KEY !== undefined) return describeKeyed(config, "anthropic");
  if (secrets.OPENAI_API_KEY !== undefined) return describeKeyed(config, "openai");
  return offline;
}

function describeNamed(config: CliConfig): ModelChoice {
  const choice = describeKeyed(config, config.provider ?? "openai-compatible");
  const { provider } = choice;
  if (!namedProviders.has(provider)) {
    return {
      ...choice,
      problem: `SAND_INFERENCE_PROVIDER is offline, openai-compatible or anthropic, not ${JSON.stringify(provider)}`,
    };
  }
  if (config.providerUrl === undefined || choice.problem !== undefined) return choice;
  const url = URL.parse(config.providerUrl);
  // It isn't printed when it is refused: it may hold a password, or be a key in the wrong variable.
  if (url === null || !/^https?:$/u.test(url.protocol) || url.username !== "" || url.password !== "") {
    return { ...choice, problem: urlProblem };
  }
  return { ...choice, url: `${url.origin}${url.pathname}` };
}

const urlProblem =
  "SAND_INFERENCE_BASE_URL must be a URL with http:// or https://, up to and with the version and without a " +
  "password, for instance http://127.0.0.1:8080/v1";

function describeKeyed({ model }: CliConfig, provider: string): ModelChoice {
  return {
    provider,
    model,
    url: undefined,
    problem: model === undefined ? `${provider} needs a model: set SAND_INFERENCE_MODEL` : undefined,
  };
}

export function modelLine(choice: ModelChoice): string {
  if (choice.provider === "offline")
    return "offline (a small rule-driven stand-in; see README for a real one)";
  const named = choice.model === undefined ? choice.provider : `${choice.provider}, ${choice.model}`;
  return choice.url === undefined ? named : `${named}, at ${choice.url}`;
}
