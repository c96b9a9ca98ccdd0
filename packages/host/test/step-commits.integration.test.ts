/** What a step costs in commits, and what a death or an interrupt between them leaves: over a real store. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelPart, Tool, ToolInvocation, TurnRecord } from "@sand/agent-core";
import { createLogger, randomIds, systemClock } from "@sand/node-kit";
import { type AgentId, brandId, type CommittedEvent, type TurnId } from "@sand/protocol";
import { openAgentStore, openHostIndex } from "@sand/store";
import { createTempFolder } from "@sand/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AgentHandle, createAgentHandle } from "../src/agents/agent-handle.ts";
import type { BoxPort } from "../src/box/box-port.ts";
import { acceptPrompt, promptEntryId } from "../src/prompts/accept-prompt.ts";
import { createRunAgent } from "../src/turns/run-agent.ts";

const agentId = brandId<AgentId>("ann");
const turnId = brandId<TurnId>("turn-1");
const logger = createLogger({ name: "test", level: "silent", write: () => {} });
const usage = {
  ...{ inputTokens: 1, outputTokens: 1, cacheReadTokens: null },
  ...{ cacheWriteTokens: null, reasoningTokens: null },
};

let folder: Awaited<ReturnType<typeof createTempFolder>>;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await createTempFolder("step-commits");
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await folder.remove();
});

/** the types of the checkpoint events of each commit */
type Commits = (readonly string[])[];

function openAgent(commits: Commits = []): AgentHandle {
  const index = openHostIndex({ root: folder.path, onCommitted: () => {}, clock: systemClock, logger });
  const directory = join(folder.path, "agents", agentId);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "profile.json"), "{}");
  const onCommitted = (events: readonly CommittedEvent[]): void => {
    const types = events
      .filter(({ channel }) => channel === "turn")
      .map(({ payload }) => String(payload.type));
    if (types.length > 0) commits.push(types);
  };
  const store = openAgentStore({ directory, agentId, seq: index.seq, onCommitted, logger });
  closing.push(
    () => index.close(),
    () => store.close(),
  );
  return createAgentHandle({ index, activeAgentId: () => null }, { agentId, folder: directory, store });
}

async function accept(handle: AgentHandle): Promise<void> {
  const promptId = brandId<never>("prompt-1");
  await handle.commit((tx) =>
    acceptPrompt(tx, {
      row: {
        ...{ promptId, nonce: brandId("n1"), digest: "d", entryId: promptEntryId(promptId), text: "go" },
        ...{ whenBusy: "steer", provenance: { origin: "user", trust: "trusted", lineage: [] } },
        ...{ acceptedAtMs: 1, turnId: null },
      },
      replyToId: null,
      freshTurnId: turnId,
    }),
  );
}

interface World {
  readonly handle: AgentHandle;
  /** calls in the first answer; the second has none */
  readonly callCount: number;
  readonly onRun?: (invocation: ToolInvocation) => void;
  readonly onModel?: (step: number) => void;
}

async function run(world: World, stopping = new AbortController()): Promise<void> {
  const tool: Tool = {
    description: { name: "Look", description: "", parameters: { type: "object", properties: {} } },
    replay: "never",
    summarize: () => "looks",
    async run(invocation) {
      world.onRun?.(invocation);
      return { outcome: "ok", text: "seen", outputHandle: null, details: {} };
    },
  };
  let step = 0;
  async function* stream(): AsyncGenerator<ModelPart> {
    step += 1;
    world.onModel?.(step);
    const hasCalls = (world.handle.turn()?.steps.length ?? 0) === 0;
    if (!hasCalls) yield { type: "text-delta", text: "done" };
    for (let at = 0; hasCalls && at < world.callCount; at += 1)
      yield { type: "tool-call", providerCallId: `c${at}`, name: "Look", argsText: "{}" };
    yield { type: "finish", finish: hasCalls ? "tool-calls" : "stop", usage };
  }
  const runAgent = createRunAgent({
    bootId: "boot",
    open: {
      open: async () => world.handle,
      peek: () => world.handle,
      close: async () => {},
      closeAll: async () => {},
    },
    services: {
      model: { provider: "test", model: "test", stream },
      toolsFor: () => new Map([["Look", tool]]),
      box: {
        ensure: async () => ({ state: "ready", box: {} as BoxPort }),
        peek: () => null,
        close: async () => {},
      },
      ...{ clock: systemClock, ids: randomIds, logger, workspaceRoot: "/", windowTokensMax: 10_000 },
      onSettled: () => {},
      publish: () => {},
    },
  });
  await runAgent(agentId, { stopping: stopping.signal, quiescing: new AbortController().signal });
}

const records = (handle: AgentHandle): readonly TurnRecord[] => handle.store.read.records(turnId);

test("a step costs one commit before its tools and one before the next model call", async () => {
  const commits: Commits = [];
  const handle = openAgent(commits);
  await accept(handle);
  await run({ handle, callCount: 1 });
  expect(commits).toEqual([
    ["turnStarted", "promptDelivered"],
    ["stepPrepared"],
    ["stepCompleted", "callReviewed", "toolIntended"],
    ["toolSettled", "stepPrepared"],
    ["stepCompleted"],
    ["turnSettled"],
  ]);
  const attempts = records(handle).flatMap((one) => (one.kind === "stepPrepared" ? [one.attempt] : []));
  expect(attempts).toEqual([1, 1]);
});

test("of calls side by side the last result carries the next intent, and each has one result", async () => {
  const handle = openAgent();
  await accept(handle);
  await run({ handle, callCount: 3 });
  const kinds = records(handle).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "toolSettled")).toHaveLength(3);
  expect(kinds.lastIndexOf("toolSettled")).toBeLessThan(kinds.lastIndexOf("stepPrepared"));
  expect(kinds.at(-1)).toBe("turnSettled");
});

test("INV-1: the effect of a call finds its intent on record, and isn't taken for a repetition", async () => {
  const handle = openAgent();
  await accept(handle);
  const seen: unknown[] = [];
  await run({
    handle,
    callCount: 2,
    onRun: ({ callId, resumed }) => {
      const intent = records(handle).some((one) => one.kind === "toolIntended" && one.callId === callId);
      seen.push({ intent, resumed });
    },
  });
  expect(seen).toEqual([
    { intent: true, resumed: false },
    { intent: true, resumed: false },
  ]);
});

test("INV-1: the model call that follows a result finds its own intent on record", async () => {
  const handle = openAgent();
  await accept(handle);
  const newest: unknown[] = [];
  await run({ handle, callCount: 1, onModel: () => newest.push(records(handle).at(-1)) });
  expect(newest).toMatchObject([
    { kind: "stepPrepared", step: 1, attempt: 1 },
    { kind: "stepPrepared", step: 2, attempt: 1 },
  ]);
});

test("an intent that another run left is not run again where that must not be, and its model call is another attempt", async () => {
  const handle = openAgent();
  await accept(handle);
  const stopping = new AbortController();
  // Dies between the commit of the step with its intents and the first effect.
  const first = handle.commit.bind(handle);
  handle.commit = async (change) => {
    const value = await first(change);
    if (records(handle).some(({ kind }) => kind === "toolIntended")) stopping.abort();
    return value;
  };
  await run({ handle, callCount: 1, onRun: () => expect.unreachable("it had been stopped") }, stopping);
  handle.commit = first;
  const runs: ToolInvocation[] = [];
  await run({ handle, callCount: 1, onRun: (invocation) => runs.push(invocation) });
  expect(runs).toEqual([]);
  expect(records(handle)).toContainEqual(
    expect.objectContaining({ kind: "toolSettled", result: expect.objectContaining({ outcome: "unknown" }) }),
  );
});

test("an interrupt that is committed with the intents keeps the calls from being run", async () => {
  const handle = openAgent();
  await accept(handle);
  const runs: ToolInvocation[] = [];
  const commit = handle.commit.bind(handle);
  let isInterrupted = false;
  handle.commit = (change) => {
    const isStep = !isInterrupted && (handle.turn()?.attempt ?? null) !== null;
    if (!isStep) return commit(change);
    isInterrupted = true;
    // In the same transaction group, before the step's own change.
    const fence = { turnId, generation: handle.turn()?.generation ?? 0 };
    void commit((tx) => tx.appendRecord(fence, { kind: "interruptRequested", by: "user", atMs: 1 }));
    return commit(change);
  };
  await run({ handle, callCount: 1, onRun: (invocation) => runs.push(invocation) });
  expect(runs).toEqual([]);
  expect(records(handle).at(-1)).toMatchObject({ kind: "turnSettled", outcome: "aborted" });
  expect(records(handle)).toContainEqual(
    expect.objectContaining({
      kind: "toolSettled",
      result: expect.objectContaining({ outcome: "interrupted" }),
    }),
  );
});
