/**
 * A recorded stream is cut at each of its bytes, by a broken connection and by a clean end.
 *
 * Case H1: a stream that ended early was taken for an answer, and its call skipped or run half.
 */
import { type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callsOf, collect, endOf, modelOf, userRequest } from "./collect-parts.ts";

/** As short as a provider may send it: the fields that every one repeats in each chunk carry nothing. */
const toFinish = [
  { choices: [{ delta: { content: "é😀" } }] },
  {
    choices: [
      { delta: { tool_calls: [{ index: 0, id: "c", function: { name: "Shell", arguments: '{"a"' } }] } },
    ],
  },
  { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':"é"}' } }] } }] },
  { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
]
  .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  .join("");
const recorded = `${toFinish}data: [DONE]\n\n`;

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: [{}] });
});
afterAll(async () => server.close());

test.each(["break", "end"] as const)(
  "no byte of a stream before its finish makes a step (%s)",
  async (how) => {
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
