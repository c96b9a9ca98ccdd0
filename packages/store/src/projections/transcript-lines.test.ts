import type { TurnRecord } from "@sand/agent-core";
import { brandId } from "@sand/protocol";
import { expect, test } from "vitest";
import { headLine, transcriptLine } from "./transcript-lines.ts";

const provenance = { origin: "user", trust: "trusted", lineage: [] } as const;
const usage = {
  ...{ inputTokens: 1, outputTokens: 1, cacheReadTokens: null },
  ...{ cacheWriteTokens: null, reasoningTokens: null },
};

function line(record: TurnRecord): unknown {
  const text = transcriptLine({ generation: 3, record, toolName: () => "Shell" });
  expect(text === "" || text.indexOf("\n") === text.length - 1).toBe(true);
  return text === "" ? undefined : JSON.parse(text);
}

function step(more: Partial<Extract<TurnRecord, { kind: "stepCompleted" }>>): TurnRecord {
  return {
    ...{
      kind: "stepCompleted",
      step: 1,
      attempt: 1,
      finish: "stop",
      text: "",
      answerEntryId: null,
      calls: [],
    },
    ...{
      usage,
      provider: "p",
      model: "m",
      rawParts: [{ type: "reasoning", text: "secret thought" }],
      atMs: 9,
    },
    ...more,
  } as TurnRecord;
}

const call = { callId: "c", providerCallId: "x", entryId: "e", name: "Shell", argsText: '{"command":"ls"}' };

test("a file begins with a line that says what it is", () => {
  expect(JSON.parse(headLine)).toEqual({ type: "metadata", version: 1 });
});

test("a prompt is the user's text behind the tag of its turn", () => {
  const prompt = {
    promptId: brandId("p"),
    entryId: brandId("e"),
    nonce: brandId("n"),
    text: "[t0u]\nmine",
  } as const;
  expect(
    line({
      kind: "promptDelivered",
      prompt: { ...prompt, provenance } as never,
      beforeStep: 1,
      atMs: 9,
    }),
  ).toEqual({ role: "user", message: { content: [{ type: "text", text: "[t2u]\n[t0u]\nmine" }] } });
});

test("the answer of a turn is a sent message, and thinking is left out", () => {
  expect(line(step({ text: "done", answerEntryId: brandId("a") }))).toEqual({
    role: "assistant",
    message: { content: [{ type: "tool_use", name: "send_message", input: { text: { content: "done" } } }] },
  });
});

test("text beside calls is text, and arguments that are no JSON stand as they came", () => {
  const calls = [call, { ...call, argsText: "{bad" }] as never;
  expect(line(step({ text: "look", calls }))).toEqual({
    role: "assistant",
    message: {
      content: [
        { type: "text", text: "look" },
        { type: "tool_use", name: "Shell", input: { command: "ls" } },
        { type: "tool_use", name: "Shell", input: "{bad" },
      ],
    },
  });
});

test("a call's result says whether it went well", () => {
  const result = { callId: brandId<never>("c"), text: "out", outputHandle: null, details: {} };
  const settled = (outcome: "ok" | "unknown"): unknown =>
    line({ kind: "toolSettled", result: { ...result, outcome }, atMs: 9 });
  const part = (value: object) => ({
    role: "tool",
    message: { content: [{ type: "tool_result", name: "Shell", result: value }] },
  });
  expect(settled("ok")).toEqual(part({ success: "out" }));
  expect(settled("unknown")).toEqual(part({ failure: "out" }));
});

test("the end of a turn has a line, and what says nothing to a reader has none", () => {
  expect(line({ kind: "turnSettled", outcome: "success", code: null, reason: null, atMs: 9 })).toEqual({
    type: "turn_ended",
    outcome: "success",
    code: null,
  });
  expect(line({ kind: "boxReady", atMs: 9 })).toBeUndefined();
  expect(line(step({}))).toBeUndefined();
});
