/**
 * A recorded stream is cut at each of its bytes, by a broken connection and by a clean end.
 *
 * Case H1: a stream that ended early was taken for an answer, and its call skipped or run half.
 */
import { type ModelReply, type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callsOf, collect, endOf, modelOf, userRequest } from "./collect-parts.ts";

const answer: ModelReply = { text: "é😀", calls: [{ id: "c", name: "Shell", args: '{"command":"é"}' }] };
const request = userRequest("cut");

let server: ScriptedModel;
/** length of the whole stream, and of its part up to the end of the frame with the finish reason */
let wholeBytes: number;
let finishedBytes: number;

beforeAll(async () => {
  server = await startScriptedModel({ script: [answer] });
  await collect(modelOf(server, { includeUsage: false }), request);
  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: "POST",
    body: JSON.stringify(server.requests.at(-1)?.body),
  });
  const recorded = await response.text();
  const finishFrame = recorded.indexOf('"finish_reason":"tool_calls"');
  wholeBytes = Buffer.byteLength(recorded);
  finishedBytes = Buffer.byteLength(recorded.slice(0, recorded.indexOf("\n\n", finishFrame) + 2));
});
afterAll(async () => server.close());

test.each(["break", "end"] as const)(
  "no byte of a stream before its finish makes a step (%s)",
  async (how) => {
    const model = modelOf(server, { includeUsage: false });
    const early: string[] = [];
    const late: string[] = [];
    for (let atByte = 0; atByte <= wholeBytes; atByte += 1) {
      server.setScript([{ ...answer, fault: { kind: "cut", atByte, how } }]);
      const parts = await collect(model, request);
      if (atByte < finishedBytes) early.push(`${endOf(parts)}, ${callsOf(parts).length} calls`);
      else late.push(`${endOf(parts)}, ${callsOf(parts).length} calls`);
    }
    expect(early).toHaveLength(finishedBytes);
    expect(new Set(early)).toEqual(new Set(["inference/incomplete retryable, 0 calls"]));
    // A connection that breaks may take frames with it that had come; it never leaves half a call.
    const allowed = ["finish tool-calls, 1 calls", "inference/incomplete retryable, 0 calls"];
    expect(allowed).toEqual(expect.arrayContaining([...new Set(late)]));
    if (how === "end") expect(new Set(late)).toEqual(new Set(["finish tool-calls, 1 calls"]));
  },
);
