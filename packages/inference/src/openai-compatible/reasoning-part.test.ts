import { expect, test } from "vitest";
import { createReasoningCollector, readReasoningPart } from "./reasoning-part.ts";

const source = { provider: "openai-compatible", model: "m", baseUrl: "http://a/v1" };
const delta = (text: string, details: readonly object[] = []) => ({
  field: "reasoning" as const,
  text,
  details: details.map((detail) => ({ ...detail })),
});

test("a step without reasoning has no part", () => {
  expect(createReasoningCollector("http://a/v1").part()).toBeUndefined();
});

test("blocks that came in pieces go back whole, with their signature", () => {
  const collector = createReasoningCollector("http://a/v1");
  collector.add(delta("be", [{ type: "reasoning.text", index: 0, text: "be" }]));
  collector.add(delta("cause", [{ type: "reasoning.text", index: 0, text: "cause", signature: null }]));
  collector.add(delta("", [{ type: "reasoning.text", index: 0, signature: "s1" }]));
  collector.add(delta("", [{ type: "reasoning.encrypted", index: 1, data: "zz" }]));
  expect(readReasoningPart(collector.part() ?? {}, source)).toEqual({
    reasoning: "because",
    reasoning_details: [
      { type: "reasoning.text", index: 0, text: "because", signature: "s1" },
      { type: "reasoning.encrypted", index: 1, data: "zz" },
    ],
  });
});

test("a part of another address, of another kind or without content gives nothing back", () => {
  const part = { type: "reasoning", origin: "http://a/v1", field: "reasoning", text: "x", details: [] };
  expect(readReasoningPart(part, source)).toEqual({ reasoning: "x" });
  expect(readReasoningPart({ ...part, origin: "http://b/v1" }, source)).toBeUndefined();
  expect(readReasoningPart({ ...part, type: "unknown-chunk" }, source)).toBeUndefined();
  expect(readReasoningPart({ ...part, text: "" }, source)).toBeUndefined();
  expect(readReasoningPart({ ...part, field: "anything" }, source)).toBeUndefined();
});
