/** The door of the inference package: one way to make a model, whatever stands behind it. */
export type {
  AnthropicConfig,
  ModelConfig,
  ModelDeps,
  OfflineConfig,
  OpenAiCompatibleConfig,
} from "./create-model.ts";
export { createModel } from "./create-model.ts";
export type { StreamLimits } from "./limits.ts";
export { streamLimits } from "./limits.ts";
