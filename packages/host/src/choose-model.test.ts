import { expect, test } from "vitest";
import { chooseModel, type ModelSettings } from "./choose-model.ts";

const nothing: ModelSettings = {
  backendUrl: null,
  inferenceTokenFile: null,
  inferenceProvider: null,
  inferenceBaseUrl: null,
  inferenceApiKey: null,
  inferenceModel: null,
  openRouterKey: null,
  anthropicKey: null,
  openAiKey: null,
};
const model = { inferenceModel: "m" };
const keys = { openRouterKey: "router", anthropicKey: "anthropic", openAiKey: "openai" };

test.each<readonly [Partial<ModelSettings>, object]>([
  [{}, { provider: "offline" }],
  [
    { ...keys, ...model },
    { provider: "openai-compatible", baseUrl: "https://openrouter.ai/api/v1", apiKey: "router", model: "m" },
  ],
  [
    { ...keys, ...model, openRouterKey: null },
    { provider: "anthropic", baseUrl: "https://api.anthropic.com/v1", apiKey: "anthropic", model: "m" },
  ],
  [
    { openAiKey: "openai", ...model },
    { provider: "openai-compatible", baseUrl: "https://api.openai.com/v1", apiKey: "openai", model: "m" },
  ],
  [{ ...keys, inferenceProvider: "offline" }, { provider: "offline" }],
  [
    { ...keys, ...model, inferenceProvider: "anthropic" },
    { provider: "anthropic", baseUrl: "https://api.anthropic.com/v1", apiKey: "anthropic", model: "m" },
  ],
  [
    {
      ...model,
      inferenceProvider: "anthropic",
      inferenceBaseUrl: "http://127.0.0.1:1/v1",
      inferenceApiKey: "k",
    },
    { provider: "anthropic", baseUrl: "http://127.0.0.1:1/v1", apiKey: "k", model: "m" },
  ],
  [
    { ...model, inferenceBaseUrl: "http://127.0.0.1:1/v1" },
    { provider: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", apiKey: null, model: "m" },
  ],
])("the settings %o choose %o", (settings, choice) => {
  expect(chooseModel({ ...nothing, ...settings })).toEqual(choice);
});

test.each<Partial<ModelSettings>>([
  { anthropicKey: "k" },
  { inferenceProvider: "anthropic", inferenceApiKey: "k" },
  { openAiKey: "k" },
  { inferenceProvider: "another", ...model },
  { backendUrl: "http://127.0.0.1:1", inferenceTokenFile: "/token" },
])("the settings %o are refused", (settings) => {
  expect(() => chooseModel({ ...nothing, ...settings })).toThrow(
    expect.objectContaining({ code: "config/invalid" }),
  );
});
