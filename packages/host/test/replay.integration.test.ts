import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRecord } from "@sand/agent-core";
import { type AgentId, brandId } from "@sand/protocol";
import { openAgentReading } from "@sand/store/archives";
import type { TurnReplay } from "@sand/store/offline";
import { waitUntil } from "@sand/testkit";
import type { ModelReply, ModelScript } from "@sand/testkit/model-server";
import { expect, test } from "vitest";
import { createJournalReader } from "../src/replay/read-journals.ts";
import { replayTurn } from "../src/replay/replay-turn.ts";
import { createRequestChecks } from "../src/replay/request-checks.ts";
import type { TurnJournal } from "../src/replay/turn-journal.ts";
import { startTestHost, type TestHost } from "./turn-host.ts";

const shell = (command: string) => ({ name: "Shell", args: { command } });

function script(...rules: readonly (readonly [string, ...ModelReply[]])[]): ModelScript {
  return { rules: rules.map(([when, ...steps]) => ({ when, steps })), otherwise: { text: "ok" } };
}

/** Shell text that waits for a file, so that a test decides when a command goes on. */
const waitFor = (file: string) => `for i in $(seq 400); do [ -e ${file} ] && break; sleep 0.05; done`;

/** Each turn of the agent, replayed; `change` may rewrite a journal before. */
function replayAll(
  host: TestHost,
  agent: string,
  change: (journal: TurnJournal) => TurnJournal = (journal) => journal,
): readonly TurnReplay[] {
  using reading = openAgentReading(join(host.dataRoot, "agents", agent));
  const reader = createJournalReader(brandId<AgentId>(agent), reading);
  const checks = createRequestChecks(reader);
  return [...reader.all()].map((journal) => replayTurn(change(journal), checks));
}

const outcomes = (replays: readonly TurnReplay[]) =>
  replays.map((one) =>
    one.kind === "same" ? one.kind : `${one.recordKind}@${one.ordinal}: ${JSON.stringify(one.difference)}`,
  );

test("turns of a real host are replayed without a difference, requests with their history included", async () => {
  const calls = [
    shell("echo a"),
    { name: "Shell", args: '{"command": "echo b"' },
    { name: "Nope", args: {} },
    { name: "ReadFile", args: { path: "missing.txt" } },
  ];
  await using host = await startTestHost({
    script: script(
      ["many", { calls }, { text: "done" }],
      [
        "flaky",
        {
          text: "there",
          firstAttempts: [
            { kind: "status", status: 529 },
            { kind: "cut", atByte: 120 },
          ],
        },
      ],
      ["broken", { fault: { kind: "status", status: 400 } }],
      ["cut", { finish: "length", calls: [shell("echo never")] }, { text: "shorter" }],
    ),
  });
  const agent = await host.createAgent("ann");
  for (const prompt of ["hello", "many", "flaky", "broken", "cut", "bye"]) await host.ask(agent, prompt);
  const replays = replayAll(host, agent);
  expect(outcomes(replays)).toEqual(["same", "same", "same", "same", "same", "same"]);
  expect(replays.map((one) => one.kind === "same" && one.requests)).toEqual([1, 2, 3, 1, 2, 1]);
}, 240_000);

test("a turn that was interrupted, one that a prompt joined and one that a restart cut are replayed", async () => {
  await using host = await startTestHost({
    script: script(
      ["stop me", { calls: [shell("sleep 300")] }, { text: "never" }],
      ["join me", { calls: [shell(`touch begun; ${waitFor("go")}`)] }, { text: "both" }],
      ["restart me", { calls: [shell(`touch begun2; ${waitFor("go2")}; echo over`)] }, { text: "over" }],
    ),
  });
  const agent = await host.createAgent("ann");
  await host.send(agent, "stop me");
  await waitUntil(
    "the command to run",
    async () => (await host.lines(agent)).includes("tool:Shell:running"),
    { deadlineMs: 30_000 },
  );
  await host.call("interruptAgentRun", { id: agent });
  await host.whenIdle(agent);
  await host.send(agent, "join me");
  await waitUntil("the command to run", () => exists(host, "begun"), { deadlineMs: 30_000 });
  await host.send(agent, "and this");
  touch(host, "go");
  await host.whenIdle(agent);
  await host.send(agent, "restart me");
  await waitUntil("the command to run", () => exists(host, "begun2"), { deadlineMs: 30_000 });
  await host.restart(() => touch(host, "go2"));
  await host.whenIdle(agent);
  const replays = replayAll(host, agent);
  expect(outcomes(replays)).toEqual(["same", "same", "same"]);
}, 240_000);

test("a journal that was changed is reported at the record that can't be right", async () => {
  await using host = await startTestHost({
    script: script(["go", { calls: [shell("echo one"), shell("echo two")] }, { text: "done" }]),
  });
  const agent = await host.createAgent("ann");
  await host.ask(agent, "first");
  await host.ask(agent, "go");
  const changed = (change: (records: readonly TurnRecord[]) => readonly TurnRecord[]) => {
    const replay = replayAll(host, agent, (journal) =>
      journal.generation === 2 ? { ...journal, records: change(journal.records) } : journal,
    )[1];
    if (replay?.kind !== "diverged") return replay?.kind;
    return [replay.recordKind, replay.ordinal, replay.difference.rule];
  };
  const mapAt =
    (kind: string, nth: number, edit: (record: object) => object) => (records: readonly TurnRecord[]) => {
      let seen = 0;
      return records.map((record) => {
        if (record.kind !== kind) return record;
        seen += 1;
        return seen === nth ? (edit(record) as TurnRecord) : record;
      });
    };
  const without = (kind: string) => (records: readonly TurnRecord[]) => {
    const at = records.findIndex((record) => record.kind === kind);
    return records.filter((_, index) => index !== at);
  };
  const kinds = journalKinds(host, agent);
  expect(kinds).toEqual([
    "turnStarted",
    "promptDelivered",
    "stepPrepared",
    "stepCompleted",
    "callReviewed",
    "toolIntended",
    "callReviewed",
    "toolIntended",
    "toolSettled",
    "toolSettled",
    "stepPrepared",
    "stepCompleted",
    "turnSettled",
  ]);
  expect(changed((records) => records)).toBe("same");
  expect(changed(mapAt("stepPrepared", 2, (one) => ({ ...one, requestHash: "0".repeat(64) })))).toEqual([
    "stepPrepared",
    11,
    "request",
  ]);
  expect(changed(mapAt("toolSettled", 1, withText("another output")))).toEqual([
    "stepPrepared",
    11,
    "request",
  ]);
  expect(changed(mapAt("promptDelivered", 1, withPrompt("another prompt")))).toEqual([
    "stepPrepared",
    3,
    "request",
  ]);
  expect(changed(mapAt("toolIntended", 2, (one) => ({ ...one, executionId: "ex-other" })))).toEqual([
    "toolIntended",
    8,
    "intent",
  ]);
  expect(changed(without("toolIntended"))).toEqual(["callReviewed", 6, "intent"]);
  expect(changed(without("stepPrepared"))).toEqual(["stepCompleted", 3, "intent"]);
  expect(changed(without("toolSettled"))).toEqual(["stepPrepared", 10, "effect"]);
  expect(changed(mapAt("stepPrepared", 1, (one) => ({ ...one, attempt: 2 })))).toEqual([
    "stepPrepared",
    3,
    "effect",
  ]);
  expect(changed(mapAt("turnSettled", 1, (one) => ({ ...one, outcome: "aborted" })))).toEqual([
    "turnSettled",
    13,
    "settlement",
  ]);
  expect(
    changed((records) => [
      ...records.slice(0, 4),
      ...records.slice(6, 8),
      ...records.slice(4, 6),
      ...records.slice(8),
    ]),
  ).toEqual(["callReviewed", 5, "intent"]);
  expect(changed(mapAt("stepCompleted", 1, withCall("echo three")))).toEqual(["stepPrepared", 11, "request"]);
}, 240_000);

function journalKinds(host: TestHost, agent: string): readonly string[] {
  using reading = openAgentReading(join(host.dataRoot, "agents", agent));
  const [, second] = [...createJournalReader(brandId<AgentId>(agent), reading).all()];
  return second?.records.map(({ kind }) => kind) ?? [];
}

function withText(text: string) {
  return (record: object) => ({ ...record, result: { ...fieldsOf(record).result, text } });
}

function withPrompt(text: string) {
  return (record: object) => ({ ...record, prompt: { ...fieldsOf(record).prompt, text } });
}

function withCall(command: string) {
  return (record: object) => {
    const [first, ...rest] = fieldsOf(record).calls;
    return { ...record, calls: [{ ...first, argsText: JSON.stringify({ command }) }, ...rest] };
  };
}

function fieldsOf(record: object): {
  readonly result: object;
  readonly prompt: object;
  readonly calls: readonly object[];
} {
  return record as never;
}

function exists(host: TestHost, name: string): boolean {
  try {
    host.file(name);
    return true;
  } catch {
    return false;
  }
}

function touch(host: TestHost, name: string): void {
  writeFileSync(join(host.workspace, name), "");
}
