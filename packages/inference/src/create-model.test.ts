import { BoxError, type Clock } from "@sand/protocol";
import { expect, test } from "vitest";
import { createModel } from "./create-model.ts";

const clock: Clock = { nowMs: () => 0, sleep: async () => undefined };

const providers = ["openai-compatible", "anthropic"] as const;

function baseUrlCode(provider: (typeof providers)[number], baseUrl: string): string | undefined {
  try {
    createModel({ provider, baseUrl, apiKey: null, model: "m" }, { clock });
    return undefined;
  } catch (error) {
    return error instanceof BoxError ? error.code : String(error);
  }
}

test.each(["", "api.example.com/v1", "file:///etc", "https://name:secret@example.com/v1"])(
  "the base URL %j is refused when the model is made",
  (baseUrl) => {
    for (const provider of providers) expect(baseUrlCode(provider, baseUrl)).toBe("config/invalid");
  },
);

test.each(["http://127.0.0.1:1/v1", "https://example.com/v1/"])("the base URL %j is accepted", (baseUrl) => {
  for (const provider of providers) expect(baseUrlCode(provider, baseUrl)).toBeUndefined();
});
