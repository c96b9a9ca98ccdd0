/** The checker must object to each kind of damage, or a sweep without findings proves nothing. */
import { expect, test } from "vitest";
import { checkSweep, type SweepRule } from "./sweep-checker.ts";
import type { RecordEvidence, SweepEvidence, TurnEvidence } from "./sweep-evidence.ts";
import type { PlannedPrompt } from "./work-plan.ts";

const prompt: PlannedPrompt = {
  agent: 0,
  nonce: "nonce-a",
  name: "a",
  whenBusy: "queue",
  afterwards: "wait",
  steps: [[{ kind: "shell", effect: "effect-a-0-0", beforeMs: 0, afterMs: 0 }]],
  frameDelayMs: 0,
};

const journal: readonly RecordEvidence[] = [
  { kind: "turnStarted", body: {} },
  { kind: "promptDelivered", body: { prompt: { promptId: "p1", text: "script:a" } } },
  { kind: "stepPrepared", body: {} },
  {
    kind: "stepCompleted",
    body: { calls: [{ callId: "c1", argsText: '{"command":"echo effect-a-0-0 >> witness.txt"}' }] },
  },
  { kind: "toolIntended", body: { callId: "c1" } },
  { kind: "toolSettled", body: { result: { callId: "c1", outcome: "ok", text: "" } } },
  { kind: "stepPrepared", body: {} },
  { kind: "stepCompleted", body: { calls: [] } },
  { kind: "turnSettled", body: { outcome: "success" } },
];

const turn: TurnEvidence = {
  turnId: "t1",
  generation: 1,
  state: "settled",
  outcome: "success",
  records: journal,
};

const sound: SweepEvidence = {
  mayBeUnknown: false,
  plan: { agents: [{ name: "worker", nonce: "create-0" }], prompts: [prompt] },
  createdAgents: [["agent-1", "agent-1"]],
  accepted: [{ nonce: "nonce-a", agentId: "agent-1" }],
  clientFindings: [],
  statuses: { "nonce-a": "found" },
  agents: [
    {
      agentId: "agent-1",
      isRunning: false,
      prompts: [{ nonce: "nonce-a", promptId: "p1", entryId: "e1", turnId: "t1" }],
      turns: [turn],
      entries: [
        { kind: "message", id: "e1", content: "script:a" },
        { kind: "tool-call", id: "e2", status: "completed" },
        { kind: "send-message", id: "e3", message: { type: "text", content: "finished a" } },
      ],
      eventSeqs: [1, 2, 5],
    },
  ],
  modelCalls: [
    { lastUserText: "script:a", step: 0, violations: [], userTexts: ["script:a"] },
    { lastUserText: "script:a", step: 1, violations: [], userTexts: ["script:a"] },
  ],
  executions: [{ executionId: "x1", hasExit: true }],
  effects: { "effect-a-0-0": 1 },
  leftProcesses: [],
};

function brokenRules(evidence: SweepEvidence): readonly string[] {
  return Object.entries(checkSweep(evidence))
    .filter(([, findings]) => findings.length > 0)
    .map(([rule]) => rule)
    .sort();
}

type AgentChange = Partial<SweepEvidence["agents"][number]>;

function withAgent(change: AgentChange): SweepEvidence {
  return { ...sound, agents: sound.agents.map((agent) => ({ ...agent, ...change })) };
}

function withTurn(change: Partial<TurnEvidence>): SweepEvidence {
  return withAgent({ turns: [{ ...turn, ...change }] });
}

function withoutRecord(kind: string): readonly RecordEvidence[] {
  return journal.filter((record) => record.kind !== kind);
}

test("a sound sweep has no findings", () => {
  expect(brokenRules(sound)).toEqual([]);
});

const damages: readonly (readonly [string, SweepEvidence, readonly SweepRule[]])[] = [
  [
    "an accepted nonce that isn't found",
    { ...sound, statuses: { "nonce-a": "not-found" } },
    ["prompts lost"],
  ],
  ["an accepted prompt without a row", withAgent({ prompts: [] }), ["prompts lost"]],
  [
    "an accepted prompt that no turn took",
    withAgent({ prompts: [{ nonce: "nonce-a", promptId: "p1", entryId: "e1", turnId: null }] }),
    ["prompts lost"],
  ],
  [
    "a prompt delivered in two turns",
    withAgent({ turns: [turn, { ...turn, turnId: "t2", generation: 2 }] }),
    ["duplicate turns"],
  ],
  [
    "a prompt twice in one request",
    {
      ...sound,
      modelCalls: [
        { lastUserText: "script:a", step: 0, violations: [], userTexts: ["script:a", "script:a"] },
      ],
    },
    ["duplicate turns"],
  ],
  [
    "a creation that made two agents",
    { ...sound, createdAgents: [["agent-1", "agent-2"]] },
    ["duplicate turns"],
  ],
  ["an effect that happened twice", { ...sound, effects: { "effect-a-0-0": 2 } }, ["doubled effects"]],
  ["an effect that is missing", { ...sound, effects: {} }, ["lost effects"]],
  ["an effect without an intent", withTurn({ records: withoutRecord("toolIntended") }), ["invented effects"]],
  [
    "a request with an unpaired call",
    {
      ...sound,
      modelCalls: [
        { lastUserText: "script:a", step: 0, violations: ["call c1 has no result"], userTexts: [] },
      ],
    },
    ["unpaired calls"],
  ],
  ["a call without a result", withTurn({ records: withoutRecord("toolSettled") }), ["unpaired calls"]],
  ["an open turn", withTurn({ state: "open" }), ["unsettled turns"]],
  ["a turn that never ends", withTurn({ records: withoutRecord("turnSettled") }), ["unsettled turns"]],
  ["an idle agent shown as running", withAgent({ isRunning: true }), ["unsettled turns"]],
  ["a turn aborted by nobody", withTurn({ outcome: "aborted" }), ["wrong outcomes"]],
  [
    "a call whose outcome nobody knows",
    withTurn({
      records: journal.map((record) =>
        record.kind === "toolSettled"
          ? { kind: record.kind, body: { result: { callId: "c1", outcome: "unknown", text: "" } } }
          : record,
      ),
    }),
    ["wrong outcomes"],
  ],
  [
    "a model call that no journal intended",
    withTurn({ records: withoutRecord("stepPrepared") }),
    ["model calls without intent"],
  ],
  [
    "a missing answer",
    withAgent({ entries: sound.agents[0]?.entries.slice(0, 2) ?? [] }),
    ["wrong transcripts"],
  ],
  [
    "a tool call left running",
    withAgent({
      entries: (sound.agents[0]?.entries ?? []).map((entry) =>
        entry.kind === "tool-call" ? { ...entry, status: "running" } : entry,
      ),
    }),
    ["wrong transcripts"],
  ],
  ["events out of order", withAgent({ eventSeqs: [1, 5, 5] }), ["broken event log"]],
  [
    "an execution without an end",
    { ...sound, executions: [{ executionId: "x1", hasExit: false }] },
    ["unfinished executions"],
  ],
  ["what a client may never see", { ...sound, clientFindings: ["a conflict"] }, ["client findings"]],
  ["a process left behind", { ...sound, leftProcesses: ["1 sleep"] }, ["left processes"]],
];

test.each(damages)("the checker finds %s", (_, evidence, rules) => {
  expect(brokenRules(evidence)).toEqual([...rules].sort());
});

test("where a keeper was killed, an unknown outcome is no finding, and a doubled effect still is", () => {
  const records = journal.map((record) =>
    record.kind === "toolSettled"
      ? { kind: record.kind, body: { result: { callId: "c1", outcome: "unknown", text: "" } } }
      : record,
  );
  const unknown = { ...withTurn({ records }), mayBeUnknown: true, effects: {} };
  expect(brokenRules(unknown)).toEqual([]);
  expect(brokenRules({ ...unknown, effects: { "effect-a-0-0": 2 } })).toEqual(["doubled effects"]);
});
