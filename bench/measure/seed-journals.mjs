/** Fills an agent's store with turns as a host records them: steps with one call each, and requests with their hashes. */
import { createHash } from "node:crypto";
import { buildMessages, reduceTurn } from "../../packages/agent-core/src/index.ts";
import { hashRequest } from "../../packages/host/src/turns/build-request.ts";
import { executionIdOf } from "../../packages/host/src/turns/plan-calls.ts";
import { hashPart, requestPartKey } from "../../packages/host/src/turns/request-basis.ts";
import { createLogger } from "../../packages/node-kit/src/index.ts";
import { createSeqAllocator, openAgentStore } from "../../packages/store/src/index.ts";

const provenance = { origin: "user", trust: "trusted", lineage: [] };
const counts = { inputTokens: 1, outputTokens: 1 };
const usage = { ...counts, cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null };
const parameters = {
  type: "object",
  additionalProperties: false,
  required: ["command"],
  properties: { command: { type: "string" } },
};
const tools = [{ name: "Shell", description: "Runs a command.", parameters }];
const system = `You are an agent with a computer of its own. ${"Be careful. ".repeat(60)}`;

/** Returns how many records there are. Each request holds the `window` turns before its own. */
export async function seedJournals({ directory, agentId, turns, steps, window }) {
  const seq = createSeqAllocator({ reservedThrough: 0, reserve: () => {} });
  const logger = createLogger({ name: "bench", level: "silent", write: () => {} });
  await using store = openAgentStore({ directory, agentId, seq, onCommitted: () => {}, logger });
  await store.transact((tx) => {
    for (const part of [system, tools]) tx.setValue(requestPartKey(hashPart(part)), part);
  });
  const views = [];
  let records = 0;
  for (let generation = 1; generation <= turns; generation += 1) {
    const made = makeTurn({ agentId, generation, steps, history: views.slice(-window) });
    views.push(made.view);
    records += made.records.length;
    await store.transact((tx) => {
      const { turnId } = made.view;
      const row = { turnId, generation, state: "open", outcome: null, startedAtMs: 1, settledAtMs: null };
      tx.insertTurn(row);
      for (const record of made.records) tx.appendRecord({ turnId, generation }, record);
      tx.settleTurn({ turnId, generation }, "success", 2);
    });
  }
  return records;
}

function makeTurn({ agentId, generation, steps, history }) {
  const turnId = `turn-${generation}`;
  const records = [];
  let view;
  const add = (record) => {
    records.push({ ...record, atMs: generation });
    view = reduceTurn(view, records.at(-1));
  };
  add({ kind: "turnStarted", turnId, generation, provenance });
  const prompt = { promptId: `p-${generation}`, entryId: `e-${generation}`, nonce: `n-${generation}` };
  add({ kind: "promptDelivered", prompt: { ...prompt, text: "go on", provenance }, beforeStep: 1 });
  for (let step = 1; step <= steps; step += 1)
    addStep({ add, agentId, turnId, step, isLast: step === steps, history, view: () => view });
  add({ kind: "turnSettled", outcome: "success", code: null, reason: null });
  return { records, view };
}

function addStep({ add, agentId, turnId, step, isLast, history, view }) {
  const messages = buildMessages(system, [...history, view()]);
  const requestHash = hashRequest({ requestId: "r", messages, tools, parameters: {} });
  const basis = {
    system: hashPart(system),
    tools: hashPart(tools),
    fromGeneration: history[0]?.generation ?? null,
    messages: messages.length,
  };
  add({ kind: "stepPrepared", step, attempt: 1, requestId: `r-${step}`, requestHash, basis });
  const callId = `${turnId}.s${step}.c0`;
  const argsText = JSON.stringify({ command: `sed -n ${step},40p some/file.ts` });
  const call = { callId, providerCallId: `call_${step}`, entryId: callId, name: "Shell", argsText };
  const text = isLast ? "It is done." : "";
  const answerEntryId = isLast ? `${turnId}.s${step}.answer` : null;
  const said = { finish: isLast ? "stop" : "tool-calls", text, answerEntryId, calls: isLast ? [] : [call] };
  add({ kind: "stepCompleted", step, attempt: 1, ...said, usage, provider: "p", model: "m", rawParts: [] });
  if (isLast) return;
  add({ kind: "callReviewed", callId, verdict: "allow", rule: "no-review" });
  add({ kind: "toolIntended", callId, executionId: executionIdOf(agentId, callId), replay: "keyed" });
  const output = createHash("sha256").update(callId).digest("hex").repeat(6);
  add({
    kind: "toolSettled",
    result: { callId, outcome: "ok", text: output, outputHandle: null, details: {} },
  });
}
