/** Turns over the messages format: what a model thought goes back to it, and a turn outlives its refusal (case G3). */
import type { ModelReply, SeenRequest } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { startTestHost } from "./turn-host.ts";

const env = { SAND_INFERENCE_PROVIDER: "anthropic" };
const toolStep: ModelReply = {
  reasoning: "First I look around.",
  redactedReasoning: "and keep this to myself",
  text: "Let me see.",
  calls: [
    { name: "Shell", args: { command: "echo one" } },
    { name: "Shell", args: { command: "echo two" } },
  ],
};

function givesReasoningBack({ body }: Pick<SeenRequest, "body">): boolean {
  return /"type":"(?:redacted_)?thinking"/u.test(JSON.stringify(body.messages));
}

test("a turn with reasoning and parallel calls makes requests that the provider accepts, also in the next turn", async () => {
  const script = (seen: SeenRequest): ModelReply =>
    seen.step === 0 ? toolStep : { text: `results: ${seen.toolResults.length}` };
  await using host = await startTestHost({ script, env });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  await host.ask(agent, "again");
  const turn = ["tool:Shell:completed", "tool:Shell:completed", "answer:results: 2"];
  expect(await host.lines(agent)).toEqual(["user:go", ...turn, "user:again", ...turn]);
  expect(host.model.violations).toEqual([]);
  expect(host.model.requests.map((request) => request.path)).toEqual(Array(4).fill("/v1/messages"));
  expect(host.model.requests.map(givesReasoningBack)).toEqual([false, true, true, true]);
});

test("a turn whose reasoning is refused goes on without it, and only what came of it is in the history", async () => {
  const refusal = {
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
    type: "invalid_request_error",
  };
  const script = (seen: SeenRequest): ModelReply => {
    if (givesReasoningBack(seen)) return { fault: { kind: "status", status: 400, error: refusal } };
    return seen.step === 0 ? toolStep : { text: "done" };
  };
  await using host = await startTestHost({ script, env });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "go");
  expect((await host.lines(agent)).at(-1)).toBe("answer:done");
  expect(host.model.requests.map(givesReasoningBack)).toEqual([false, true, false]);
  expect(host.model.violations).toEqual([]);
});
