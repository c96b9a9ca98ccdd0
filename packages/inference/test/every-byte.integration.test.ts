/**
 * A recorded stream of each wire format is cut at each of its bytes, by a broken connection and by a clean end.
 *
 * Case H1: a stream that ended early was taken for an answer, and its call skipped or run half.
 */
import type { JsonObject } from "@sand/protocol";
import { type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Adapter, adapters, callsOf, collect, endOf, userRequest } from "./collect-parts.ts";

interface Recorded {
  readonly toFinish: string;
  readonly behind: string;
}

/** As short as a provider may send it: the fields that every one repeats in each chunk carry nothing. */
const chat: Recorded = {
  toFinish: framesOf([
    { choices: [{ delta: { content: "é😀" } }] },
    {
      choices: [
        { delta: { tool_calls: [{ index: 0, id: "c", function: { name: "Shell", arguments: '{"a"' } }] } },
      ],
    },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':"é"}' } }] } }] },
    { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
  ]),
  behind: "data: [DONE]\n\n",
};

const messages: Recorded = {
  toFinish: framesOf([
    { type: "message_start", message: { usage: { input_tokens: 1 } } },
    block(0, { type: "thinking" }),
    delta(0, { type: "signature_delta", signature: "s" }),
    delta(1, { type: "text_delta", text: "é😀" }),
    block(2, { type: "tool_use", id: "c", name: "Shell", input: {} }),
    delta(2, { type: "input_json_delta", partial_json: '{"a"' }),
    delta(2, { type: "input_json_delta", partial_json: ':"é"}' }),
    { type: "content_block_stop", index: 2 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
  ]),
  behind: framesOf([{ type: "message_stop" }]),
};

function framesOf(chunks: readonly JsonObject[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}

function block(index: number, content: JsonObject): JsonObject {
  return { type: "content_block_start", index, content_block: content };
}

function delta(index: number, fields: JsonObject): JsonObject {
  return { type: "content_block_delta", index, delta: fields };
}

const recordings = { "openai-compatible": chat, anthropic: messages } as const;

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: [{}] });
});
afterAll(async () => server.close());

const cases = adapters.flatMap((adapter) =>
  (["break", "end"] as const).map((how) => [adapter, how] as const),
);

test.each<readonly [Adapter, "break" | "end"]>(cases)(
  "no byte of a stream before its finish makes a step ($0.name, $1)",
  async ({ name, modelOf }, how) => {
    const { toFinish, behind } = recordings[name];
    const recorded = toFinish + behind;
    const model = modelOf(server);
    const early: string[] = [];
    const late: string[] = [];
    for (let atByte = 0; atByte <= Buffer.byteLength(recorded); atByte += 1) {
      server.setScript([{ fault: { kind: "cut", atByte, how, recorded } }]);
      const parts = await collect(model, userRequest("cut"));
      const outcome = `${endOf(parts)}, calls ${JSON.stringify(callsOf(parts).map((call) => call.argsText))}`;
      (atByte < Buffer.byteLength(toFinish) ? early : late).push(outcome);
    }
    expect(early).toHaveLength(Buffer.byteLength(toFinish));
    expect(new Set(early)).toEqual(new Set(["inference/incomplete retryable, calls []"]));
    // A connection that breaks may take frames with it that had come; it never leaves half a call.
    const whole = 'finish tool-calls, calls ["{\\"a\\":\\"é\\"}"]';
    const allowed = how === "end" ? [whole] : [whole, "inference/incomplete retryable, calls []"];
    expect(allowed).toEqual(expect.arrayContaining([...new Set(late)]));
  },
  120_000,
);
